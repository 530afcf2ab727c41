"""All stages in causal order: from the job's own text to the containers of its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from validators.core.facts import Unread
from validators.core.outcome import CannotJudgeError
from validators.explain.containers import containers
from validators.explain.making.controllers import controllers, grouping
from validators.explain.making.pods_made import accounts, creation, leaving, making, priority
from validators.explain.making.quotas import limits, quota
from validators.explain.model import Explanation, Finding, Situation, State, finding
from validators.explain.placing.claims import claims
from validators.explain.placing.room import room
from validators.explain.queueing.backfill import backfill
from validators.explain.queueing.coscheduling import SECOND, coscheduling, made_by_plugins
from validators.explain.queueing.preempting import preempting
from validators.explain.queueing.queues import SCHEDULER, queueing, reserved
from validators.explain.queueing.schedulers import gates, schedulers
from validators.explain.queueing.shares import guarantees, shares

__all__ = ["explain", "last_words", "state_of"]

_STAGES: tuple[Callable[[Situation], Iterator[Finding]], ...] = (
    leaving,
    controllers,
    grouping,
    priority,
    accounts,
    quota,
    limits,
    queueing,
    making,
    creation,
    schedulers,
    gates,
    claims,
    room,
    preempting,
    guarantees,
    reserved,
    shares,
    backfill,
    containers,
)

_STAGES_OF_PLUGINS = (
    *(leaving, controllers, coscheduling, priority, accounts, quota, limits, making, creation),
    *(gates, claims, room, containers),
)
"""Where scheduler-plugins make the gangs: without Volcano's queues, configuration and shares."""

_YOUNG_SECONDS = 15.0
_TOLD = 3
_ECHOES = frozenset({"FailedScheduling", "PodGroupPending", "Unschedulable"})
"""Reasons of events that repeat the conditions of pods and PodGroups."""
_RUNNING = frozenset({"Running", "Succeeded"})
_ENDS: Mapping[str, State] = {
    "Succeeded": State.SUCCEEDED,
    "Complete": State.SUCCEEDED,
    "Completed": State.SUCCEEDED,
    "Failed": State.FAILED,
    "Terminated": State.FAILED,
}
"""Condition types of Kubeflow's jobs and of TrainJobs, and phases of Volcano's."""


def explain(situation: Situation) -> Explanation:
    """What is found, causes before their consequences. What could not be read leaves a stage out and is told."""
    state = state_of(situation)
    unread = dict(situation.facts.unread)
    if state in {State.SUCCEEDED, State.FAILED, State.SUSPENDED}:
        return Explanation(situation, state, tuple(_ended(situation, state)), ())
    found: list[Finding] = []
    for stage in _STAGES_OF_PLUGINS if made_by_plugins(situation) else _STAGES:
        # A refused pod and the quota that refuses it are one thing.
        told = {item.reason for item in found} if stage is creation else set()
        try:
            for item in stage(situation):
                if item.reason not in told:
                    # Of a job whose gang runs, only what its own containers suffer from is in the way.
                    blocks = item.blocks and (state is State.WAITING or stage is containers)
                    found.append(replace(item, blocks=blocks))
        except CannotJudgeError as stop:
            why = stop.outcome
            if all(item.message != why.message for item in unread.values()):
                unread[stage.__name__] = Unread(why.reason, why.message, why.todo)
    if state is State.WAITING and not any(item.blocks for item in found):
        found += _nothing_found(situation, complete=not unread)
    return Explanation(situation, state, tuple(found), tuple(unread.values()))


def state_of(situation: Situation) -> State:
    """How far the job is, by its own conditions and by its pods."""
    if end := _end(situation.obj):
        return end[0]
    if situation.job.suspended:
        return State.SUSPENDED
    running = [pod for pod in situation.pods if pod.get("status", {}).get("phase") in _RUNNING]
    return State.STARTED if len(running) >= max(situation.minimum, 1) else State.WAITING


def last_words(situation: Situation) -> tuple[str, ...]:
    """What schedulers and controllers said last, in their own words."""
    words = []
    if situation.group:
        unschedulable = conditions(situation.group).get("Unschedulable", {})
        if unschedulable.get("message") and situation.phase not in {"Running", "Completed"}:
            words.append(f"{situation.group_ref}: {unschedulable['message']}")
    for pod in situation.unplaced:
        scheduled = conditions(pod).get("PodScheduled", {})
        if scheduled.get("message"):
            words.append(f"{Ref.of(pod)}: {scheduled['message']}")
    shown = {text.partition(": ")[2]: text for text in reversed(words)}
    events = [item for item in situation.events if item.reason not in _ECHOES]
    shown |= {item.message: f"{item.ref}, {item.reason}: {item.message}" for item in events[-_TOLD:]}
    return tuple(shown.values())[-2 * _TOLD :]


def _end(obj: Object) -> tuple[State, str] | None:
    """How it ended, and what was said about that."""
    for kind, condition in conditions(obj).items() if _has_conditions(obj) else ():
        if kind in _ENDS and condition.get("status") == "True":
            return _ENDS[kind], str(condition.get("message") or condition.get("reason") or "no message")
    status = obj.get("status") or {}
    phase = str(status.get("phase") or (status.get("state") or {}).get("phase"))
    if phase in _ENDS:
        return _ENDS[phase], str((status.get("state") or {}).get("message") or f"phase {phase}")
    return None


def _has_conditions(obj: Object) -> bool:
    """Volcano's jobs keep a history under that name, without types."""
    return all("type" in item for item in (obj.get("status") or {}).get("conditions") or ())


def _ended(situation: Situation, state: State) -> Iterator[Finding]:
    ref, end = situation.job.ref, _end(situation.obj)
    if state is State.SUSPENDED:
        volcano = ref.group == "batch.volcano.sh"
        yield finding(
            "Aborted" if volcano else "Suspended",
            f"{ref} is {'aborted: it waits for a command' if volcano else 'suspended: it has no pods on purpose'}.",
            needed="a job that is meant to run.",
            todo="resume it with a command (vcctl job resume)."
            if volcano
            else "set suspend to false, or see who suspends it: a queueing system such as Kueue does.",
            objects=[ref],
        )
    elif state is State.FAILED and end:
        yield finding(
            "Failed",
            f"{ref} has ended, and not well: {end[1].rstrip('.')}.",
            needed="a job that has not ended.",
            todo="read the logs of its pods, correct the cause, and make the job anew: it does not start again.",
            objects=[ref],
        )


def _nothing_found(situation: Situation, *, complete: bool) -> Iterator[Finding]:
    """Nothing known keeps it; that is said, and not made up."""
    age = situation.facts.taken - situation.job.created
    if age < _YOUNG_SECONDS:
        yield finding(
            "Young",
            f"the job was created {age:.0f} s ago, and nothing is in its way.",
            needed="some seconds.",
            todo="ask again.",
            blocks=False,
        )
    elif complete and made_by_plugins(situation):
        yield finding(
            "Unexplained",
            f"nothing that is known keeps the job from starting: nodes and claims have room for {situation.minimum} "
            f"pods, {len(situation.pods)} exist, {len(situation.placed)} have a node. Whether {SECOND} runs, its "
            "configuration, and whom it lets go first were not looked at.",
            needed="a scheduler and a controller that act.",
            todo="read what they said last, below, and its log; the validation judges the scheduler (F1, H1).",
            objects=[situation.job.ref, SECOND],
            commands=[f"kubectl -n {SECOND.namespace} logs deployment/{SECOND.name} --tail 100"],
        )
    elif complete and situation.group and not situation.phase:
        yield finding(
            "SchedulerSilent",
            f"{situation.group_ref} has no phase after {age:.0f} s: no scheduler has looked at it, and {SCHEDULER} is "
            "up.",
            needed="a scheduler that answers to the name volcano and sees the PodGroup.",
            todo="read its log, and restart it: it may work on a stale cache, or wait to become the leader.",
            objects=[SCHEDULER],
            commands=[
                f"kubectl -n {SCHEDULER.namespace} logs deployment/{SCHEDULER.name} --tail 100",
                f"kubectl -n {SCHEDULER.namespace} rollout restart deployment/{SCHEDULER.name}",
            ],
        )
    elif complete:
        yield finding(
            "Unexplained",
            f"nothing that is known keeps the job from starting: queue, nodes and claims have room for "
            f"{situation.minimum} pods. {len(situation.pods)} exist, {len(situation.placed)} have a node, "
            f"PodGroup phase {situation.phase or 'none'}.",
            needed="a scheduler and a controller that act.",
            todo="read what they said last, below, and their logs.",
            objects=[situation.job.ref],
            commands=[f"kubectl -n {SCHEDULER.namespace} logs deployment/{SCHEDULER.name} --tail 100"],
        )
