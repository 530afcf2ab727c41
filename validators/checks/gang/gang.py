"""Family H: is gang scheduling true, by the evidence of an experiment with its controls.

The verdicts follow from states alone: which pod was bound when, and whether a scheduler had judged it. Messages of
schedulers are shown and never matched, because they differ between versions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from validators.checks.gang import controls as gang_controls
from validators.checks.gang import steps as gang_steps
from validators.checks.gang import words as gang_words
from validators.checks.gang.two_gangs import two_gangs
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, failed, passed, skipped
from validators.probes.audit import CLEANUP
from validators.probes.gang.evidence import GangEvidence
from validators.probes.gang.gang import GANG

__all__ = ["CHECKS"]


def _step(facts: Facts, judge: Callable[[GangEvidence], Outcome], *, of: str = "") -> Outcome:
    """A step's own verdict; `of` is the earlier step that owns what ended the experiment early."""
    evidence = facts.evidence(GANG)
    outcome = judge(evidence)
    if outcome.because or outcome.reason not in gang_words.ENDED_EARLY:
        return outcome
    return replace(outcome, because=(of,) if of else ())


@check("H1", "gang-fits", severity=Severity.BLOCKER, requires=("F1", "F3"), probe=GANG)
def gang_fits(facts: Facts) -> Outcome:
    """A gang of three pods that fits is bound whole.

    All three must be bound within 30 s and the PodGroup must become Running. Where no scheduler looks at the pods,
    restart it; where it looks and finds no room, make room.
    """
    return _step(facts, gang_steps.fit)


@check("H2", "all-or-nothing", severity=Severity.BLOCKER, requires=("H1",), probe=GANG)
def all_or_nothing(facts: Facts) -> Outcome:
    """No member of a gang is bound while one of its members fits nowhere.

    It counts only after the scheduler has judged every member, and it must hold for max(5 s, 5 schedule periods).
    A member that is bound means that gang scheduling is off: see F4 for the configuration.
    """
    return _step(facts, gang_steps.blocked, of="H1")


@check("H3", "gang-released", severity=Severity.BLOCKER, requires=("H1",), probe=GANG)
def gang_released(facts: Facts) -> Outcome:
    """A gang that waited is bound whole as soon as it can be.

    The member that fits nowhere is replaced by one that fits; all three must be bound within 30 s. Restart the
    scheduler when they are not.
    """
    return _step(facts, gang_steps.released, of="H1")


@check("H4", "gang-control", severity=Severity.BLOCKER, requires=("H1",), probe=GANG)
def gang_control(facts: Facts) -> Outcome:
    """The same pods run when each may run alone, so it was the gang that held them back.

    A control that does not come out says that the experiment proves nothing: make room and run again.
    """
    return _step(facts, gang_controls.same_scheduler, of="H1")


@check("H5", "default-scheduler-control", severity=Severity.MINOR, requires=("H1",), probe=GANG)
def default_scheduler_control(facts: Facts) -> Outcome:
    """The default scheduler places the same pods in part, which is what a gang is spared.

    A warning where it does not: then nothing is seen of the difference that gang scheduling makes here, while H2 and
    H4 prove it by themselves. The default profile may gang by itself, or nobody answers to default-scheduler.
    """
    return _step(facts, gang_controls.default_scheduler, of="H1")


@check("H6", "two-gangs", severity=Severity.MAJOR, requires=("H1", "H2"), probe=GANG)
def two_gangs_in_turn(facts: Facts) -> Outcome:
    """Of two gangs that want the same two places one runs whole, then the other; without gangs they block each other.

    Its controls are the same four pods with Volcano, each of which may run alone, and with the default scheduler,
    where each gang gets one place and waits for ever. It shows what gang scheduling is for; the proof is H2, since
    Volcano takes one job after the other even without the plugin gang. Before Volcano 1.8.1 it may not come out.
    """
    return _step(facts, two_gangs, of="H1")


@check("H8", "nothing-left-behind", severity=Severity.MAJOR, probe=CLEANUP)
def nothing_left_behind(facts: Facts) -> Outcome:
    """Everything that the probes created is gone within 60 s, by UID.

    What is left is named with what holds it. Remove the cause; the next run removes what is past its expiry.
    """
    cleanup = facts.evidence(CLEANUP)
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


CHECKS = (
    gang_fits,
    all_or_nothing,
    gang_released,
    gang_control,
    default_scheduler_control,
    two_gangs_in_turn,
    nothing_left_behind,
)
