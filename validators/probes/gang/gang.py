"""The gang-scheduling experiment with its controls: acts, watches every event, and writes down what was bound when.

Needs no GPU, no second node and no empty cluster: what blocks a gang is a node affinity that nothing satisfies, and
next to it stands the same set of pods that may run without the gang.
"""

from __future__ import annotations

import time
from dataclasses import replace

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.admission.alterations import alteration, interceptors
from kubeflow_volcano.cluster.admission.rescheduling import rescheduling
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.pods import lowest_priority, probe_pod
from kubeflow_volcano.experiment.record import Recorder
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.experiment.stage import Stage, nowhere, was_judged
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acting import ACTING
from kubeflow_volcano.validators.probes.gang import two_gangs
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence, Play
from kubeflow_volcano.validators.subjects.gang import scheduler_configuration

STUCK = "p2"
"""How the name of the one that fits nowhere ends, in H2, H4 and H5."""

_WHOLE = 3
"""Pods of the gang of H1."""
_SUITE_SECONDS = 900.0
_AFTERMATH = 1.0  # a violation is followed for this long, to tell how far it goes
# Volcano takes members by creation time, in whole seconds and then by UID, and stops at the first that fits nowhere
# when all are needed (pkg/scheduler/api/job_info.go, NeedContinueAllocating). Were that one the first, nobody would be
# bound with or without gang scheduling; so it is made last, in a later second.
_APART = 1.1
_TICK = 0.1


def run(session: Session, facts: Facts, progress: Progress) -> GangEvidence:
    """Run H1 to H6; each step starts from nothing. Takes about 25 s, at most 180 s."""
    period = scheduler_configuration.period_seconds(facts)
    gang, timing = facts.expectations.gang, facts.timing
    evidence = GangEvidence(
        gang=gang,
        scheduler=facts.expectations.scheduler,
        queue=session.options.queue,
        volcano_version=scheduler_configuration.version(facts) if gang is VOLCANO else "",
        period_seconds=period,
        hold_seconds=max(timing.hold_seconds, timing.periods_held * period),
        simulated_nodes=facts.simulated_nodes,
        timing=timing,
    )
    try:
        if gang.has_queues:
            queue = session.cluster.get(Ref(gang.api_version, "Queue", "", evidence.queue))
            evidence.queue_state = queue.get("status", {}).get("state", "") or "Unknown" if queue else ""
        # Without an open queue nothing is ever evaluated, which looks like a scheduler that is down.
        if not evidence.shut:
            _experiment(session, evidence, progress)
    except ProbeRefused as refusal:
        evidence.refused = str(refusal)
    except (ApiError, TimeoutError) as error:
        evidence.failure = str(error)
    return evidence


def _experiment(session: Session, evidence: GangEvidence, progress: Progress) -> None:
    evidence.namespace = session.namespace()
    evidence.priority_class = lowest_priority(session.cluster)
    labels = f"{RUN_LABEL}={session.run}"
    subjects = [
        Subject("v1", "Pod", evidence.namespace, labels),
        Subject(*evidence.gang.podgroup, evidence.namespace, labels),
    ]
    with Observer(session.cluster, subjects, Deadline(_SUITE_SECONDS)) as observer:
        recorder = Recorder(session.cluster, evidence.namespace, labels, observer.changes(_TICK))
        stage = Stage(session, recorder, evidence.priority_class, evidence.gang)
        for play in _PLAYS:
            _undisturbed(play, stage, evidence, progress)
            members = evidence.steps["H1"].members
            if any(item.scheduler != evidence.gang.scheduler for item in members):
                evidence.rescheduling = rescheduling(session.cluster, _member(session, evidence))
            elif any(not item.group for item in members):
                evidence.ungrouped = interceptors(session.cluster, _member(session, evidence))
            elif any(item.minimum != _WHOLE for item in evidence.steps["H1"].groups):
                evidence.resized = interceptors(session.cluster, _group(evidence), "podgroups")
            elif not evidence.steps["H1"].bound:
                evidence.alteration = alteration(session.cluster, _member(session, evidence))
            if evidence.rescheduling or evidence.ungrouped is not None or evidence.resized is not None:
                return
            if not evidence.steps["H1"].bound:
                return


def _group(evidence: GangEvidence) -> Object:
    """A PodGroup as that of H1 is."""
    spec = evidence.gang.group_spec(_WHOLE)
    return new_object(*evidence.gang.podgroup, "kfv-asked", evidence.namespace, spec=spec)


def _member(session: Session, evidence: GangEvidence) -> Object:
    """A pod as those of a gang are."""
    container = {"image": session.options.pause_image}
    spec = {"schedulerName": evidence.gang.scheduler}
    return probe_pod(f"kfv-{session.run}-asked", evidence.namespace, container, spec=spec)


def _undisturbed(play: Play, stage: Stage, evidence: GangEvidence, progress: Progress) -> None:
    """Play once, and once more when a pod was evicted or drained and no violation was seen. A violation is final."""
    ids = play(stage, evidence, progress, stage.prefix)
    lost = [item for id_ in ids for item in evidence.steps[id_].disturbed]
    if not lost or any(evidence.steps[id_].premature for id_ in ids):
        return
    note = "; ".join(f"{item.name} on {item.node or 'no node'}: {item.lost}" for item in lost)
    progress(f"{ids[0]} again: {note}")
    for id_ in play(stage, evidence, progress, f"{stage.prefix}again-"):
        step = evidence.steps[id_]
        evidence.steps[id_] = replace(step, attempts=2, notes=(*step.notes, f"Repeated once: {note}."))


def _fit(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str) -> tuple[str, ...]:
    """H1: a gang of three that fits is bound whole."""
    progress("H1 fit: three pods as one gang")
    names = tuple(f"{prefix}h1-p{index}" for index in range(_WHOLE))
    stage.begin()
    stage.group(f"{prefix}h1", _WHOLE)
    for name in names:
        stage.pod(name, f"{prefix}h1")
    record = stage.recorder

    def running() -> bool:
        whole = len(record.bound(*names)) == len(names)
        return whole and all(item.phase == evidence.gang.placed for item in record.groups.values())

    record.wait_for(lambda: running() or record.disturbed(), evidence.timing.bind_seconds)
    evidence.steps["H1"] = stage.step("H1", names, reached=running())
    stage.clear()
    return ("H1",)


def _blocked_then_released(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str) -> tuple[str, ...]:
    """H2: while one of three fits nowhere, none is bound. H3: with another one in its place, all are."""
    progress("H2 all-or-nothing: one pod of three fits nowhere")
    group, names = f"{prefix}h2", tuple(f"{prefix}h2-p{index}" for index in range(4))
    first, second, stuck, released = names
    record = stage.recorder
    stage.begin()
    stage.group(group, 3)
    stage.pod(first, group)
    stage.pod(second, group)
    record.until(lambda: bool(record.bound()), _APART)
    stage.pod(stuck, group, required=nowhere())
    _hold(stage, evidence, progress, (first, second, stuck))
    if record.disturbed():
        stage.clear()
        return ("H2",)

    progress("H3 unblock: a pod that fits takes the place of the one that does not")
    start = time.monotonic()
    stage.remove(stuck)
    stage.pod(released, group)
    freed = (first, second, released)

    def whole() -> bool:
        return len(record.bound(*freed)) == len(freed)

    record.wait_for(lambda: whole() or record.disturbed(), evidence.timing.bind_seconds)
    step = stage.step("H3", freed, reached=whole())
    evidence.steps["H3"] = replace(step, seconds=round(time.monotonic() - start, 3))
    stage.clear()
    return "H2", "H3"


def _hold(stage: Stage, evidence: GangEvidence, progress: Progress, blocked: tuple[str, ...]) -> None:
    """Wait until the scheduler evaluated the gang, then check for the hold time that no member is bound."""
    record = stage.recorder

    def judged() -> bool:
        members = [item for item in record.members.values() if item.name in blocked]
        return len(members) == len(blocked) and was_judged(members, record.groups.values())

    def note(held: float) -> None:
        bound = tuple(item.name for item in record.members.values() if item.name in blocked and item.node)
        seen = stage.step("H2", blocked, reached=judged(), premature=bound, held_seconds=round(held, 3))
        evidence.steps["H2"] = seen

    def decided() -> bool:
        return bool(record.bound()) or record.disturbed()

    record.wait_for(lambda: judged() or decided(), evidence.timing.bind_seconds)
    since = time.monotonic()
    if judged():
        progress(f"H2 all-or-nothing: judged, nothing may be bound for {evidence.hold_seconds:.0f} s")
        record.until(decided, evidence.hold_seconds)
    if record.bound():
        record.until(lambda: False, _AFTERMATH)
    held = time.monotonic() - since if judged() else 0.0
    note(held)  # kept even if the server does not answer the last look
    record.look()
    note(held)


def _same_pods_without_gang(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str) -> tuple[str, ...]:
    """H4: the pods of H2 with minMember 1. Shows that the gang, not lack of room, held them back."""
    progress("H4 control: the same three pods, each of which may run alone")
    names = tuple(f"{prefix}h4-p{index}" for index in range(3))
    stage.begin()
    stage.group(f"{prefix}h4", 1)
    for name in names[:2]:
        stage.pod(name, f"{prefix}h4")
    stage.pod(names[2], f"{prefix}h4", required=nowhere())
    record = stage.recorder

    def seen() -> bool:  # the watch may tell of the third after the others were bound
        known = {item.name for item in record.members.values()}
        return known >= set(names) and set(record.bound()) >= set(names[:2])

    record.wait_for(lambda: seen() or record.disturbed(), evidence.timing.bind_seconds)
    evidence.steps["H4"] = stage.step("H4", names, reached=seen())
    stage.clear()
    return ("H4",)


def _default_scheduler(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str) -> tuple[str, ...]:
    """H5: the pods of H2 with the default scheduler. Shows what happens without gang scheduling."""
    progress("H5 control: the same three pods with the default scheduler")
    names = tuple(f"{prefix}h5-p{index}" for index in range(3))
    stage.begin()
    for name in names[:2]:
        stage.pod(name)
    stage.pod(names[2], required=nowhere())
    record = stage.recorder

    def seen() -> bool:
        known = [item for item in record.members.values() if item.name in names]
        return len(known) == len(names) and all(item.node or item.judged for item in known)

    record.wait_for(lambda: seen() or record.disturbed(), evidence.timing.bind_seconds)
    evidence.steps["H5"] = stage.step("H5", names, reached=seen())
    stage.clear()
    return ("H5",)


_PLAYS: tuple[Play, ...] = (_fit, _blocked_then_released, _same_pods_without_gang, _default_scheduler, two_gangs.play)

GANG = Probe[GangEvidence](
    "gang",
    run,
    "gang",
    reads=(DEPLOYMENTS,),
    needs=(
        *ACTING,
        *(Rule(verb, VOLCANO.group, "podgroups") for verb in ("create", "delete", "list", "watch")),
        Rule("get", VOLCANO.group, "queues"),
        Rule("list", "scheduling.k8s.io", "priorityclasses"),
    ),
)
