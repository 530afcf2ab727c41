"""Family H: is gang scheduling true, by the evidence of an experiment with its controls; and what the operator makes.

The verdicts follow from states alone: which pod was bound when, and whether a scheduler had judged it. Messages of
schedulers are shown and never matched, because they differ between versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Ref
from validators import gang_steps
from validators.facts import Facts
from validators.model import Outcome, Rule, Severity, Status, check, failed, passed, skipped, warned
from validators.probes.gang import GangEvidence
from validators.probes.operator import MADE_SECONDS, PLACED_SECONDS, OperatorEvidence
from validators.probes.remains import Cleanup
from validators.probes.stage import PODGROUP
from validators.refusals import interruption, refusal

__all__ = ["CHECKS", "NEEDS_GANG", "NEEDS_OPERATOR", "NEEDS_PROBE", "NEEDS_TRAINER", "gang_verdict", "operator_verdict"]

NEEDS_PROBE = (
    *(Rule(verb, "", "namespaces") for verb in ("create", "delete", "list", "watch")),
    *(Rule(verb, "", "resourcequotas") for verb in ("create", "patch", "list", "watch")),
    *(Rule(verb, "", "serviceaccounts") for verb in ("list", "watch")),
    *(Rule(verb, "", "pods") for verb in ("create", "delete", "list", "watch")),
)
"""What every probe must be allowed to do."""

NEEDS_GANG = (
    *NEEDS_PROBE,
    *(Rule(verb, "scheduling.volcano.sh", "podgroups") for verb in ("create", "delete", "list", "watch")),
    Rule("get", "scheduling.volcano.sh", "queues"),
    Rule("list", "apps", "deployments"),
)
"""What the gang experiment must be allowed to do."""

NEEDS_OPERATOR = (
    *NEEDS_PROBE,
    *(Rule(verb, "kubeflow.org", "tfjobs") for verb in ("create", "delete", "list", "patch", "watch")),
    *(Rule(verb, "scheduling.volcano.sh", "podgroups") for verb in ("delete", "list", "watch")),
)
"""What the training operator's probe job must be allowed to do."""

NEEDS_TRAINER = (
    *NEEDS_PROBE,
    *(Rule(verb, "trainer.kubeflow.org", "trainjobs") for verb in ("create", "delete", "list", "patch", "watch")),
    *(Rule(verb, "scheduling.volcano.sh", "podgroups") for verb in ("delete", "list", "watch")),
)
"""What Trainer's probe job must be allowed to do."""

_Judge = Callable[[GangEvidence], Outcome | None]

# The verdict list of the whole experiment, from the top; the first that is not good wins.
_ORDER: tuple[tuple[str, _Judge], ...] = (
    ("H2", gang_steps.violation),
    ("H1", gang_steps.fit),
    ("H4", gang_steps.control),
    ("H3", gang_steps.released),
    ("H2", gang_steps.blocked),
)


def gang_verdict(evidence: GangEvidence) -> Outcome:
    """One verdict for the whole experiment: a member bound where none may be comes before everything else.

    It is F6's, and names the step that owns a failure.
    """
    for id_, judge in _ORDER:
        outcome = judge(evidence)
        if outcome and outcome.status in {Status.FAIL, Status.ERROR}:
            return replace(outcome, because=(id_,))
    fit, blocked = evidence.steps["H1"], evidence.steps["H2"]
    return passed(
        f"3 pods that fit were bound within {fit.seconds:.1f} s of their creation; with one of 3 that fits nowhere, "
        f"none was bound in {blocked.held_seconds:.1f} s after all 3 had been judged.",
        objects=gang_steps.step_refs(evidence, fit, blocked),
        observed=gang_steps.observed(evidence, blocked),
    )


def operator_verdict(evidence: OperatorEvidence) -> Outcome:
    """Whether the operator made a gang of a job: its PodGroup as the job asks, its pods handed to Volcano."""
    if evidence.refused:
        return refusal(evidence.refused)
    if evidence.trouble:
        return interruption(evidence.trouble)
    fault = next(_operator_faults(evidence), None)
    objects = (evidence.job, Ref(*PODGROUP, evidence.job.namespace, evidence.job.name))
    observed = {
        "pod_group": (evidence.group or {}).get("spec"),
        "phase": evidence.phase,
        "pods": {item.name: f"schedulerName {item.scheduler}, group {item.group or 'none'}" for item in evidence.pods},
    }
    wanted = f"a PodGroup with minMember {evidence.replicas} in queue {evidence.queue}, and {evidence.replicas} pods"
    if not fault:
        kind = evidence.job.kind
        text = f"a {kind} of {evidence.replicas} workers became {wanted} that are Volcano's"
        if not evidence.nudged:
            return passed(f"{text}, {_placed(evidence)}.", objects=objects, observed=observed)
        return warned(
            "Nudged",
            f"{text}, but only after the job was touched: the operator had missed that its group may run.",
            expected="the pods come as soon as the group may run",
            observed=observed,
            objects=objects,
            todo="annotate a job that hangs, or restart the operator; 1.6.0 is free of it (kubeflow/trainer#1574).",
        )
    reason, message, todo = fault
    return failed(
        reason,
        message,
        expected=f"{wanted} with schedulerName volcano and the group's name",
        observed=observed,
        objects=objects,
        todo=todo,
        because=("F6",) if reason == "PodsHeldBack" else (),
    )


def _placed(evidence: OperatorEvidence) -> str:
    nodes = sorted({item.node for item in evidence.pods if item.node})
    if all(item.node for item in evidence.pods):
        return f"and were placed on {', '.join(nodes)}"
    return f"and were not placed within {PLACED_SECONDS:.0f} s, of which H1 says more"


def _operator_faults(evidence: OperatorEvidence) -> Iterator[tuple[str, str, str]]:
    """Reason, message and what to do, of each thing that is not as a gang needs it, the most telling first."""
    group, made, wanted, phase = evidence.group, len(evidence.pods), evidence.replicas, evidence.phase
    wiring = "its runtimes (G7)" if evidence.job.kind == "TrainJob" else "its gang arguments (G1)"
    if group is None:
        message = f"the operator made no PodGroup within {MADE_SECONDS:.0f} s, and {made} pods."
        yield "NoPodGroup", message, f"see {wiring} and its log; restart it if it is older than Volcano."
        return
    spec = group["spec"]
    policy = "see that no admission policy changes PodGroups."
    if spec.get("minMember") != wanted:
        message = f"the PodGroup has minMember {spec.get('minMember')}, the job has {wanted} replicas."
        yield "WrongMinimum", message, policy
    if spec.get("queue") != evidence.queue:
        yield "WrongQueue", f"the PodGroup is in queue {spec.get('queue')!r}, not {evidence.queue}.", policy
    if made < wanted and phase in {"", "Pending"}:
        message = f"the PodGroup has phase {phase or 'unset'}: until that changes the operator makes no pods."
        yield "PodsHeldBack", message, "see whether the scheduler is alive (F6) and the cluster has room."
    elif made < wanted:
        todo = "restart the operator, and read its log."
        yield "PodsMissing", f"the PodGroup is {phase}, and only {made} of {wanted} pods came.", todo
    stray = [item for item in evidence.pods if item.scheduler != "volcano" or item.group != evidence.job.name]
    if stray:
        told = ", ".join(f"{item.name} has schedulerName {item.scheduler} and group {item.group!r}" for item in stray)
        yield "PodsNotGanged", f"{told}.", f"see {wiring}."


def _step(facts: Facts, judge: Callable[[GangEvidence], Outcome], *, of: str = "") -> Outcome:
    """A step's own verdict; `of` is the earlier step that owns what ended the experiment early."""
    evidence: GangEvidence = facts.probe("gang")
    outcome = judge(evidence)
    if outcome.because or outcome.reason not in gang_steps.ENDED_EARLY:
        return outcome
    return replace(outcome, because=(of,) if of else ())


@check("H1", "gang-fits", severity=Severity.BLOCKER, requires=("F1", "F3"), needs=NEEDS_GANG, probe="gang")
def gang_fits(facts: Facts) -> Outcome:
    """A gang of three pods that fits is bound whole.

    All three must be bound within 30 s and the PodGroup must become Running. Where no scheduler looks at the pods,
    restart it; where it looks and finds no room, make room.
    """
    return _step(facts, gang_steps.fit)


@check("H2", "all-or-nothing", severity=Severity.BLOCKER, requires=("H1",), probe="gang")
def all_or_nothing(facts: Facts) -> Outcome:
    """No member of a gang is bound while one of its members fits nowhere.

    It counts only after the scheduler has judged every member, and it must hold for max(5 s, 5 schedule periods).
    A member that is bound means that gang scheduling is off: see F4 for the configuration.
    """
    return _step(facts, gang_steps.blocked, of="H1")


@check("H3", "gang-released", severity=Severity.BLOCKER, requires=("H1",), probe="gang")
def gang_released(facts: Facts) -> Outcome:
    """A gang that waited is bound whole as soon as it can be.

    The member that fits nowhere is replaced by one that fits; all three must be bound within 30 s. Restart the
    scheduler when they are not.
    """
    return _step(facts, gang_steps.released, of="H1")


@check("H4", "gang-control", severity=Severity.BLOCKER, requires=("H1",), probe="gang")
def gang_control(facts: Facts) -> Outcome:
    """The same pods run when each may run alone, so it was the gang that held them back.

    A control that does not come out says that the experiment proves nothing: make room and run again.
    """
    return _step(facts, gang_steps.control, of="H1")


@check("H8", "nothing-left-behind", severity=Severity.MAJOR, probe="cleanup")
def nothing_left_behind(facts: Facts) -> Outcome:
    """Everything that the probes created is gone within 60 s, by UID.

    What is left is named with what holds it. Remove the cause; the next run removes what is past its expiry.
    """
    cleanup: Cleanup = facts.probe("cleanup")
    refs = tuple(item.ref for item in cleanup.created)
    if cleanup.left:
        return failed(
            "LeftBehind",
            f"{len(cleanup.left)} of {len(cleanup.created)} probe objects are still there after "
            f"{cleanup.seconds:.0f} s: {'; '.join(f'{item.ref} {item.why}' for item in cleanup.left)}",
            expected="0 objects left",
            observed={"created": len(cleanup.created), "left": {str(item.ref): item.uid for item in cleanup.left}},
            objects=[item.ref for item in cleanup.left],
            todo="see what holds them; never strip finalizers of others.",
            commands=[
                f"kubectl get namespace {item.ref.name} -o yaml" for item in cleanup.left if not item.ref.namespace
            ],
        )
    if not refs:
        return skipped("NothingCreated", "no probe created anything.")
    return passed(f"{len(refs)} probe objects are gone after {cleanup.seconds:.1f} s.", objects=refs)


CHECKS = (gang_fits, all_or_nothing, gang_released, gang_control, nothing_left_behind)
