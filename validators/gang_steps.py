"""Verdicts on the steps H1 to H3 of the gang experiment, from its evidence alone. None means nothing to object to."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Ref
from validators.model import Outcome, errored, failed, passed, warned
from validators.probes.experiment import BIND_SECONDS, GangEvidence
from validators.probes.stage import PODGROUP, Step
from validators.refusals import interruption, refusal

__all__ = [
    "ENDED_EARLY",
    "WIDEST_SPREAD",
    "blocked",
    "disturbed",
    "ended_early",
    "fit",
    "good",
    "observed",
    "released",
    "step_refs",
    "violation",
    "why",
]

ENDED_EARLY = frozenset({"ProbeRefused", "ProbeInterrupted", "NotReached"})
"""Reasons of a step that did not come to its end."""

WIDEST_SPREAD = 2.0
"""Seconds within which the members of one gang are bound; each binding is a request of its own."""

_RESTART = "kubectl -n volcano-system rollout restart deployment/volcano-scheduler"
_CONFIGURATION = "kubectl -n volcano-system get configmap volcano-scheduler-configmap -o yaml"


def _queue_shut(evidence: GangEvidence) -> Outcome | None:
    if evidence.queue_state != "Open" and not (evidence.refused or evidence.trouble):
        state = evidence.queue_state or "missing"
        return failed(
            "QueueNotOpen",
            f"queue {evidence.queue} is {state}: nothing in it is ever evaluated, so the experiment was not made.",
            expected="queue in state Open",
            observed={"queue": evidence.queue, "state": state},
            objects=(Ref("scheduling.volcano.sh/v1beta1", "Queue", "", evidence.queue),),
            todo="open the queue: see F3.",
            because=("F3",),
        )
    return None


def ended_early(evidence: GangEvidence) -> Outcome:
    """The outcome of a step that did not come to its end."""
    if evidence.refused:
        return refusal(evidence.refused)
    if evidence.trouble:
        return interruption(evidence.trouble)
    return errored("NotReached", "an earlier step of the experiment did not come out.", todo="see that step.")


def violation(evidence: GangEvidence) -> Outcome | None:
    """A member of a gang that is bound where none may be, in any step."""
    blocked_step, fit_step = evidence.steps.get("H2"), evidence.steps.get("H1")
    if blocked_step and blocked_step.premature:
        return _premature(evidence, blocked_step)
    if fit_step and not fit_step.disturbed and 0 < len(fit_step.bound) < len(fit_step.members):
        text = f"only {len(fit_step.bound)} of {len(fit_step.members)} members were bound in {BIND_SECONDS:.0f} s"
        return _partial(evidence, fit_step, text)
    return None


def _premature(evidence: GangEvidence, step: Step) -> Outcome:
    who = ", ".join(f"{item.name} on {item.node} at {item.bound_at}" for item in step.bound)
    return _partial(evidence, step, f"{who} bound, although the gang cannot be whole")


def _partial(evidence: GangEvidence, step: Step, what: str) -> Outcome:
    return failed(
        "PartialPlacement",
        f"A gang was placed in part: {what}.",
        expected="all members of a gang are bound, or none",
        observed=observed(evidence, step),
        objects=step_refs(evidence, step),
        todo="see that the scheduler's configuration names the plugin gang and none of its switches is false (F4), "
        "and that minMember of the PodGroup is honoured.",
        commands=(_CONFIGURATION,),
        evidence=step.as_file,
    )


def fit(evidence: GangEvidence) -> Outcome:
    """H1."""
    step = evidence.steps.get("H1")
    if step is None:
        return _queue_shut(evidence) or ended_early(evidence)
    if step.disturbed:
        return disturbed(evidence, step)
    if len(step.bound) < len(step.members):
        return violation(evidence) or _unplaced(evidence, step)
    placed = f"3 of 3 pods were bound, on {_places(evidence, step)}"
    if not step.reached:
        phases = ", ".join(f"{item.name} is {item.phase or 'without a phase'}" for item in step.groups)
        return warned(
            "PhaseNotRunning",
            f"{placed}, but the PodGroup did not become Running: {phases}.",
            expected="PodGroup in phase Running",
            observed=observed(evidence, step),
            objects=step_refs(evidence, step),
            todo="see the scheduler's log: it places pods and does not write the group's status.",
        )
    if step.spread_seconds > WIDEST_SPREAD:
        return warned(
            "SlowPlacement",
            f"{placed}, but {step.spread_seconds:.1f} s lay between the first and the last.",
            expected=f"at most {WIDEST_SPREAD:.0f} s between the first and the last binding",
            observed=observed(evidence, step),
            objects=step_refs(evidence, step),
            todo="see the load of the API server and of the scheduler.",
        )
    return good(evidence, step, f"{placed}, within {step.seconds:.1f} s of their creation.")


def _unplaced(evidence: GangEvidence, step: Step) -> Outcome:
    if any(item.judged for item in step.members):  # so somebody looked, and found no place
        return errored(
            "NoRoom",
            f"the cluster has no room for 3 pods of 10m CPU: {why(step)}",
            expected="one schedulable node without taints that has room for 3 x 10m CPU and 16Mi memory",
            observed=observed(evidence, step),
            objects=step_refs(evidence, step),
            todo="make room or uncordon a node, and run again.",
            evidence=step.as_file,
        )
    return failed(
        "SchedulerNotEvaluating",
        f"no scheduler looked at the pods within {BIND_SECONDS:.0f} s: none has a PodScheduled condition.",
        expected=f"3 of 3 bound within {BIND_SECONDS:.0f} s",
        observed=observed(evidence, step),
        objects=step_refs(evidence, step),
        todo="the scheduler is down, works on a stale cache, or answers to another name than volcano. Restart it.",
        commands=(_RESTART,),
        evidence=step.as_file,
    )


def blocked(evidence: GangEvidence) -> Outcome:
    """H2."""
    step = evidence.steps.get("H2")
    if step is None:
        return ended_early(evidence)
    if step.premature:
        return _premature(evidence, step)
    if step.disturbed:
        return disturbed(evidence, step)
    if not step.judged:
        # That nothing was bound says nothing as long as nobody looked.
        return errored(
            "NeverJudged",
            f"nothing was bound, but not every member was judged within {BIND_SECONDS:.0f} s, which proves nothing.",
            expected="every member PodScheduled=False, the PodGroup with a phase and an Unschedulable condition",
            observed=observed(evidence, step),
            objects=step_refs(evidence, step),
            todo="see the scheduler's log for errors in writing status, and run again.",
            evidence=step.as_file,
            # While the scheduler takes over a configuration without gang, members may be bound a moment later.
            because=("F4",),
        )
    return good(
        evidence,
        step,
        f"0 of 3 members were bound in {step.held_seconds:.1f} s after all three had been judged, because one of "
        f"them fits nowhere.",
    )


def released(evidence: GangEvidence) -> Outcome:
    """H3."""
    step = evidence.steps.get("H3")
    if step is None:
        return ended_early(evidence)
    if step.disturbed:
        return disturbed(evidence, step)
    if not step.reached:
        return failed(
            "GangNotReleased",
            f"only {len(step.bound)} of 3 members were bound within {BIND_SECONDS:.0f} s after a pod that fits took "
            f"the place of the one that does not: {why(step)}",
            expected="3 of 3 bound",
            observed=observed(evidence, step),
            objects=step_refs(evidence, step),
            todo="restart the scheduler: it does not see that the gang is whole by now.",
            commands=(_RESTART,),
            evidence=step.as_file,
        )
    return good(evidence, step, f"3 of 3 members were bound {step.seconds:.1f} s after the gang could be whole.")


def disturbed(evidence: GangEvidence, step: Step) -> Outcome:
    """Probe pods were taken away, so the step says nothing."""
    lost = "; ".join(f"{item.name} on {item.node or 'no node'}: {item.lost}" for item in step.disturbed)
    return errored(
        "Disturbed",
        f"probe pods were taken away in {step.attempts} tries: {lost}.",
        expected="probe pods are left alone for as long as the step takes",
        observed=observed(evidence, step),
        objects=step_refs(evidence, step),
        todo="run again when no node is being drained and nothing evicts pods.",
        evidence=step.as_file,
    )


# words


def good(evidence: GangEvidence, step: Step, message: str) -> Outcome:
    """The step came out; what happened on the way is told behind the message."""
    return passed(
        " ".join((message, *step.notes)), objects=step_refs(evidence, step), observed=observed(evidence, step)
    )


def step_refs(evidence: GangEvidence, *steps: Step) -> tuple[Ref, ...]:
    """Groups and pods of steps."""
    groups = [Ref(*PODGROUP, evidence.namespace, item.name) for step in steps for item in step.groups]
    pods = [Ref("v1", "Pod", evidence.namespace, item.name) for step in steps for item in step.members]
    return tuple(dict.fromkeys([*groups, *pods]))


def _places(evidence: GangEvidence, step: Step) -> str:
    nodes = sorted({item.node for item in step.bound})
    return ", ".join(f"{name} (simulated)" if name in evidence.simulated_nodes else name for name in nodes)


def observed(evidence: GangEvidence, step: Step) -> dict[str, object]:
    """What a step saw, for the report."""
    judged = [(item.name, item.judged) for item in step.members] + [(item.name, item.judged) for item in step.groups]
    return {
        "bound": {item.name: f"{item.node} at {item.bound_at}" for item in step.bound},
        "judged": {name: at for name, at in judged if at},
        "most_bound_at_once": max((len(names) for names in step.states), default=0),
        "groups": {item.name: item.phase for item in step.groups},
        "nodes": _places(evidence, step),
        "seconds": step.seconds,
        "held_seconds": step.held_seconds,
        "attempts": step.attempts,
        "events": step.events,
    }


def why(step: Step) -> str:
    """What schedulers said of members without a node and of groups; shown, never matched."""
    said: Iterable[str] = (
        *(f"{item.name}: {item.message}" for item in step.members if item.message and not item.node),
        *(f"{item.name}: {note.get('message', '')}" for item in step.groups for note in item.conditions),
    )
    return "; ".join(dict.fromkeys(said)) or "no scheduler said why."
