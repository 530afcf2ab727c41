"""The verdict on two gangs that compete for the same two places, with both controls, from the evidence alone."""

from __future__ import annotations

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.watch.leaders import SCHEDULER
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.validators.checks.gang import words as gang_words
from kubeflow_volcano.validators.core.outcome import Outcome, errored, failed, passed, skipped, warned
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.two_gangs import CONTROL, DEADLOCK, GANGS, RELEASE, SIZE, gang_of, slot_of

# Pods of one session did not see each other's anti-affinity (volcano-sh/volcano#3138, mended by #3139).
_HONOURED_SINCE = "1.8.1"
_TITLES = {
    CONTROL: "H6 control: the same pods with the gang scheduler, each of which may run alone",
    DEADLOCK: "H6 control: the same pods with the default scheduler",
}


def two_gangs(evidence: GangEvidence) -> Outcome:
    """H6: one gang whole, then the other, never parts of both."""
    known = [evidence.steps[id_] for id_ in (CONTROL, GANGS, RELEASE, DEADLOCK) if id_ in evidence.steps]
    if lost := next((step for step in known if step.disturbed), None):
        return gang_words.disturbed(evidence, lost)
    control, gangs = evidence.steps.get(CONTROL), evidence.steps.get(GANGS)
    if control is None:
        return gang_words.ended_early(evidence)
    if not _one_per_slot(control):
        return _no_scarcity(evidence, control)
    if gangs is None:
        return gang_words.ended_early(evidence)
    return _mixed(evidence, gangs) or _released(evidence, gangs)


def _released(evidence: GangEvidence, gangs: Step) -> Outcome:
    """What came when the first gang had gone, and what the default scheduler made of the same pods."""
    release, deadlock = evidence.steps.get(RELEASE), evidence.steps.get(DEADLOCK)
    if release is None:
        return gang_words.ended_early(evidence)
    if not release.reached:
        text = f"the second gang was not bound within {evidence.timing.bind_seconds:.0f} s after the first had gone"
        return _failed_step(evidence, release, "SecondGangNotPlaced", f"{text}: {gang_words.why(release)}")
    if deadlock is None:
        return gang_words.ended_early(evidence)
    note = f"one gang of {SIZE} was bound whole, and the other {release.seconds:.1f} s after the first had gone"
    seen = _observed(evidence, release)
    objects = gang_words.step_refs(evidence, gangs)
    if not (_one_per_slot(deadlock) and len({gang_of(item.name) for item in deadlock.bound}) == SIZE):
        names = ", ".join(sorted(item.name for item in deadlock.bound)) or "none"
        return warned(
            "NoDeadlockWithoutGang",
            f"{note}; but with the default scheduler the same pods did not block each other (bound: {names}), so that "
            "nothing shows what gangs prevent.",
            expected="with the default scheduler each gang gets one of its two members",
            observed=seen,
            objects=objects,
            todo="check whether kube-scheduler's profile schedules gangs itself; the proof, H2 with H4, does "
            "not depend on it.",
            evidence=deadlock.as_file,
            because=() if deadlock.bound else (frozenset({SCHEDULER.lease}),),
        )
    notes = dict.fromkeys(note for step in (gangs, release, deadlock) for note in step.notes)
    text = f"{note}; with the default scheduler each gang got one member and waits indefinitely: the deadlock."
    return passed(" ".join((text, *notes)), objects=objects, observed=seen)


def _no_scarcity(evidence: GangEvidence, control: Step) -> Outcome:
    bound = ", ".join(sorted(item.name for item in control.bound)) or "none"
    text = f"with the gang scheduler and no gang, not one pod for each of 2 slots was bound, but {bound}"
    if _old(evidence):
        return _skipped(evidence, f"{text}: its anti-affinity does not hold")
    return errored(
        "ControlFailed",
        f"the control failed, so that two gangs would have nothing to contend for: {text}. {gang_words.why(control)}",
        expected="the anti-affinity admits one pod per slot",
        todo="see that the scheduler's plugin predicates is on (F4) and that the node takes two more pods of 16Mi.",
        **gang_words.seen(evidence, control),
    )


def _mixed(evidence: GangEvidence, step: Step) -> Outcome | None:
    """Parts of both gangs at one time, a gang in part, or none at all."""
    both = next((names for names in step.states if len({gang_of(name) for name in names}) > 1), ())
    parts = {letter: [item for item in step.bound if gang_of(item.name) == letter] for letter in "ab"}
    torn = [letter for letter, members in parts.items() if 0 < len(members) < SIZE]
    if both:
        return _failed_step(
            evidence, step, "GangsMixed", f"members of both gangs were bound at once: {', '.join(both)}"
        )
    if torn:
        names = ", ".join(item.name for item in step.bound)
        text = f"gang {torn[0]} was bound in part within {evidence.timing.bind_seconds:.0f} s: {names}"
        return _failed_step(evidence, step, "PartialPlacement", text)
    if not step.bound:
        if not any(item.judged for item in step.members):
            text = f"no scheduler looked at either gang within {evidence.timing.bind_seconds:.0f} s"
            return _failed_step(evidence, step, "SchedulerNotEvaluating", text)
        text = f"neither gang was bound within {evidence.timing.bind_seconds:.0f} s"
        return _failed_step(evidence, step, "NoGangPlaced", f"{text}: {gang_words.why(step)}")
    if step.spread_seconds > evidence.timing.spread_seconds:
        return warned(
            "SlowPlacement",
            f"one gang was bound whole, but {step.spread_seconds:.1f} s lay between its bindings.",
            expected=f"at most {evidence.timing.spread_seconds:.0f} s between the first and the last binding",
            observed=_observed(evidence, step),
            objects=gang_words.step_refs(evidence, step),
            todo="see the load of the API server and of the scheduler.",
        )
    return None


def _failed_step(evidence: GangEvidence, step: Step, reason: str, text: str) -> Outcome:
    if _old(evidence):
        return _skipped(evidence, text)
    return failed(
        reason,
        f"{text}.",
        expected="one gang whole, and the other as soon as the first has gone; never parts of both",
        observed=_observed(evidence, step),
        objects=gang_words.step_refs(evidence, step),
        todo="see the scheduler's configuration (F4) and its log.",
        evidence=step.as_file,
    )


def _old(evidence: GangEvidence) -> bool:
    version = evidence.volcano_version
    return bool(version) and version_key(version) < version_key(_HONOURED_SINCE)


def _skipped(evidence: GangEvidence, text: str) -> Outcome:
    return skipped(
        "AntiAffinityBug",
        f"{text}. Volcano {evidence.volcano_version} may break the anti-affinity that makes places scarce here "
        f"(volcano-sh/volcano#3138, before {_HONOURED_SINCE}); H2 is the proof.",
        objects=gang_words.step_refs(evidence, evidence.steps[CONTROL]),
    )


def _one_per_slot(step: Step) -> bool:
    slots = [slot_of(item.name) for item in step.bound]
    return len(slots) == SIZE and len(set(slots)) == SIZE


def _observed(evidence: GangEvidence, step: Step) -> dict[str, object]:
    """What the gangs did, and beside it the controls."""
    controls = [
        {"title": title, **{key: value for key, value in gang_words.observed(evidence, found).items() if key in _SHOWN}}
        for id_, title in _TITLES.items()
        if (found := evidence.steps.get(id_))
    ]
    return {**gang_words.observed(evidence, step), "controls": controls}


_SHOWN = ("bound", "judged", "groups", "events")
