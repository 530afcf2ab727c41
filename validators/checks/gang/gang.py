"""Family H: is gang scheduling true, by the evidence of an experiment with its controls.

The verdicts follow from states alone: which pod was bound when, and whether a scheduler had judged it. Messages of
schedulers are shown and never matched, because they differ between versions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS
from kubeflow_volcano.validators.checks.gang import controls as gang_controls
from kubeflow_volcano.validators.checks.gang import steps as gang_steps
from kubeflow_volcano.validators.checks.gang import words as gang_words
from kubeflow_volcano.validators.checks.gang.two_gangs import two_gangs
from kubeflow_volcano.validators.checks.refusals import altered
from kubeflow_volcano.validators.checks.rescheduled import rescheduled, resized, ungrouped
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped
from kubeflow_volcano.validators.probes.audit import CLEANUP
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.gang import GANG
from kubeflow_volcano.validators.subjects.gang.flows import FLOW, held_back

_SLOW = frozenset({"SchedulerNotEvaluating", "SlowPlacement"})
"""Reasons that come of a scheduler whose requests the API server does not take, too."""


def _step(facts: Facts, judge: Callable[[GangEvidence], Outcome], *, of: str = "") -> Outcome:
    """A step's own verdict; `of` is the earlier step that owns what ended the experiment early."""
    evidence = facts.evidence(GANG)
    if evidence.rescheduling:
        return rescheduled(evidence.rescheduling, facts, because=(of,) if of else ())
    if evidence.ungrouped is not None:
        return ungrouped(evidence.ungrouped, evidence.gang, facts, because=(of,) if of else ())
    if evidence.resized is not None:
        given = [item.minimum for item in evidence.steps["H1"].groups]
        return resized(given[0], evidence.resized, evidence.gang, facts, because=(of,) if of else ())
    outcome = judge(evidence)
    if evidence.alteration and outcome.reason == "NoRoom" and evidence.alteration.explains(outcome.message):
        return altered(f"{outcome.message.rstrip('.')}: {evidence.alteration}.")
    if outcome.because or outcome.reason not in gang_words.ENDED_EARLY:
        return outcome
    return replace(outcome, because=(of,) if of else ())


def _taken_in_turn(facts: Facts, outcome: Outcome) -> Outcome:
    """The outcome with who lets the scheduler's requests wait, where that explains it."""
    flow = facts.known(FLOW)
    return held_back(outcome, flow) if flow and outcome.reason in _SLOW else outcome


@check("H1", "gang-fits", severity=Severity.BLOCKER, requires=("F1", "F3"), reads=(FLOW,), probe=GANG)
def gang_fits(facts: Facts) -> Outcome:
    """All pods of a gang that fits are bound.

    All three must be bound within 30 s and the PodGroup must become Running. If the scheduler does not evaluate the
    pods, restart it; if it finds no node with room, free resources.
    """
    return _taken_in_turn(facts, _step(facts, gang_steps.fit))


@check("H2", "all-or-nothing", severity=Severity.BLOCKER, requires=("H1",), probe=GANG)
def all_or_nothing(facts: Facts) -> Outcome:
    """No member of a gang is bound while another member fits on no node.

    It counts only after the scheduler has evaluated every member, and it must hold for max(5 s, 5 schedule periods). A
    bound member means that gang scheduling is off: see F4 for the configuration.
    """
    return _step(facts, gang_steps.blocked, of="H1")


@check("H3", "gang-released", severity=Severity.BLOCKER, requires=("H1",), probe=GANG)
def gang_released(facts: Facts) -> Outcome:
    """All pods of a waiting gang are bound once they fit.

    The member that fits on no node is replaced by one that does; all three must be bound within 30 s. If not, restart
    the scheduler.
    """
    return _step(facts, gang_steps.released, of="H1")


@check("H4", "gang-control", severity=Severity.BLOCKER, requires=("H1",), probe=GANG)
def gang_control(facts: Facts) -> Outcome:
    """Control: without the gang, those of the same pods that fit are bound.

    If this control fails, the experiment proves nothing: free resources and run it again.
    """
    return _step(facts, gang_controls.same_scheduler, of="H1")


@check("H5", "default-scheduler-control", severity=Severity.MINOR, requires=("H1",), probe=GANG)
def default_scheduler_control(facts: Facts) -> Outcome:
    """Control: the default scheduler places only some of the same pods.

    It warns if not: then the experiment does not show the difference that gang scheduling makes, while H2 and H4 still
    prove it. Either the default profile schedules gangs itself, or no scheduler is named default-scheduler.
    """
    return _step(facts, gang_controls.default_scheduler, of="H1")


@check("H6", "two-gangs", severity=Severity.MAJOR, requires=("H1", "H2"), reads=(FLOW,), probe=GANG)
def two_gangs_in_turn(facts: Facts) -> Outcome:
    """Two gangs that compete for the same two places run one after the other.

    Controls: Volcano without gangs, and the default scheduler, where each gang gets one place and neither
    starts. It shows what gang scheduling is for; the proof is H2, because Volcano takes one job after the other even
    without the plugin gang. Before Volcano 1.8.1 it may fail.
    """
    return _taken_in_turn(facts, _step(facts, two_gangs, of="H1"))


@check("H8", "nothing-left-behind", severity=Severity.MAJOR, probe=CLEANUP)
def nothing_left_behind(facts: Facts) -> Outcome:
    """Every object that the probes created is deleted, by UID.

    The wait ends when nothing has happened for 120 s: a busy cluster takes its time over a namespace.

    The finding names what blocks the deletion of an object. Remove the cause; the next run deletes expired objects.
    """
    cleanup = facts.evidence(CLEANUP)
    refs = tuple(item.ref for item in cleanup.created)
    if cleanup.left:
        # A namespace without a word of its controller in its conditions.
        unseen = any(not item.ref.namespace and item.why.endswith("finalizers: kubernetes") for item in cleanup.left)
        return failed(
            "LeftBehind",
            f"{len(cleanup.left)} of {len(cleanup.created)} probe objects are still there after "
            f"{cleanup.seconds:.0f} s: {'; '.join(f'{item.ref} {item.why}' for item in cleanup.left)}",
            expected="0 objects left",
            observed={"created": len(cleanup.created), "left": {str(item.ref): item.uid for item in cleanup.left}},
            objects=[item.ref for item in cleanup.left],
            todo="start kube-controller-manager, which deletes namespaces: its log says why it does not."
            if unseen
            else "see what holds them; never strip finalizers of others.",
            because=(frozenset({CONTROLLERS.lease}),) if unseen else (),
            commands=[
                f"kubectl get namespace {item.ref.name} -o yaml" for item in cleanup.left if not item.ref.namespace
            ],
        )
    if not refs:
        return skipped("NothingCreated", "no probe created anything.")
    return passed(f"{len(refs)} probe objects are gone after {cleanup.seconds:.1f} s.", objects=refs)
