"""All stages in causal order: from the job's own spec to the containers of its pods.

Rules: status of each kind as its controller writes it (RunPolicy.suspend of the training operator, v1.5.0 to v1.9.2;
spec.suspend of Trainer v2.1.0; phase Aborted of pkg/controllers/job/state of Volcano, v1.8.0 to v1.15.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Ref, conditions
from kubeflow_volcano.cluster.ownership import writers_of
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError
from kubeflow_volcano.validators.explain.containers import containers
from kubeflow_volcano.validators.explain.creation.changes import changes, following, rewritten
from kubeflow_volcano.validators.explain.creation.companions import companions
from kubeflow_volcano.validators.explain.creation.controllers import controllers
from kubeflow_volcano.validators.explain.creation.coscheduling import SECOND_SCHEDULER, coscheduling, is_coscheduled
from kubeflow_volcano.validators.explain.creation.gang_makers import gang_maker
from kubeflow_volcano.validators.explain.creation.native_gangs import is_native, native_gang, read_by_others, waits
from kubeflow_volcano.validators.explain.creation.podgroups import podgroup
from kubeflow_volcano.validators.explain.creation.prerequisites import (
    accounts,
    deletion,
    no_replicas,
    priority,
    refused_spec,
)
from kubeflow_volcano.validators.explain.creation.quotas import limit_ranges, quotas
from kubeflow_volcano.validators.explain.creation.refusals import expected_refusals, refusals
from kubeflow_volcano.validators.explain.creation.trainjobs import jobset, runtime
from kubeflow_volcano.validators.explain.model import Explanation, Finding, Situation, State, finding
from kubeflow_volcano.validators.explain.placement.claims import claims
from kubeflow_volcano.validators.explain.placement.device_claims import device_claims
from kubeflow_volcano.validators.explain.placement.device_room import device_room
from kubeflow_volcano.validators.explain.placement.room import room
from kubeflow_volcano.validators.explain.scheduling.attachments import attachments
from kubeflow_volcano.validators.explain.scheduling.best_effort import best_effort, ran_in_part
from kubeflow_volcano.validators.explain.scheduling.device_claims import claims_ignored
from kubeflow_volcano.validators.explain.scheduling.kueue import (
    GROUP,
    QUEUE_LABEL,
    is_served,
    kueue,
    queue_of,
    queued_twice,
)
from kubeflow_volcano.validators.explain.scheduling.npus import npus
from kubeflow_volcano.validators.explain.scheduling.overcommit import overcommit
from kubeflow_volcano.validators.explain.scheduling.preemption import preemption
from kubeflow_volcano.validators.explain.scheduling.queues import queue
from kubeflow_volcano.validators.explain.scheduling.reclaim import reclaim
from kubeflow_volcano.validators.explain.scheduling.schedulers import gates, scheduler
from kubeflow_volcano.validators.explain.scheduling.shares import guarantees, share
from kubeflow_volcano.validators.explain.scheduling.topology import topology
from kubeflow_volcano.validators.explain.words import last_warning, outranking
from kubeflow_volcano.validators.explain.words import room as has_room
from kubeflow_volcano.validators.subjects.gang.leases import abandoned

STAGES: tuple[Callable[[Situation], Iterator[Finding]], ...] = (
    # Can its PodGroup and pods be created?
    deletion,
    no_replicas,
    refused_spec,
    kueue,  # it lets controllers create pods, or schedulers place them
    queued_twice,
    runtime,
    controllers,
    jobset,
    podgroup,
    gang_maker,
    coscheduling,
    native_gang,
    read_by_others,
    priority,
    accounts,
    quotas,
    limit_ranges,
    queue,  # Volcano's admission webhook refuses pods of a queue that is not open
    expected_refusals,
    refusals,
    companions,
    changes,
    rewritten,
    # Does their scheduler run, and may it place them?
    scheduler,
    gates,
    # Is there a node for each, and room for all of them?
    claims,
    attachments,
    claims_ignored,
    device_claims,
    device_room,
    room,
    topology,
    npus,
    # Does Volcano give that room to this gang?
    preemption,
    reclaim,
    guarantees,
    overcommit,
    share,
    best_effort,
    # Do the placed pods run?
    containers,
)
"""Causes come before their consequences."""

_PLACING = frozenset(STAGES[STAGES.index(claims) : STAGES.index(containers)])
"""Of these a scheduler has the last word."""
_OF_VOLCANO = frozenset(
    {podgroup, gang_maker, queue, scheduler, attachments, claims_ignored, preemption, reclaim}
    | {guarantees, overcommit, share, best_effort, topology, npus}
)

_YOUNG_SECONDS = 15.0


def explain(situation: Situation) -> Explanation:
    """The findings, causes before their consequences. A stage whose facts could not be read is skipped and reported."""
    state = situation.state
    unread = dict(situation.facts.unread)
    if state in {State.SUCCEEDED, State.FAILED, State.SUSPENDED}:
        return Explanation(situation, state, tuple(_of_inactive(situation)), tuple(_unread_of_kueue(unread)))
    findings: list[Finding] = []
    placing: list[Finding] = []
    for stage in _stages(situation):
        # A refused pod and the quota that refuses it are one cause.
        known = {item.reason for item in findings} if stage is refusals else set()
        try:
            for item in stage(situation):
                if item.reason not in known:
                    # Once the gang runs, only its own containers and what they need beside it are in the job's way.
                    blocks = item.blocks and (state is State.WAITING or stage in {containers, companions})
                    findings.append(replace(item, blocks=blocks))
                    placing += findings[-1:] if stage in _PLACING else ()
        except CannotJudgeError as stop:
            why = stop.outcome
            if all(item.message != why.message for item in unread.values()):
                unread[stage.__name__] = Unread(why.reason, why.message, why.todo)
    findings = following(findings, [role.name for role in situation.job.roles if role.replicas > 0])
    # Who is not made, or has no scheduler to judge him, has its cause there.
    if state is State.WAITING and not any(item.blocks and item not in placing for item in findings):
        young = situation.facts.taken - situation.job.created < _YOUNG_SECONDS
        findings = [*(replace(item, blocks=not young) for item in outranking(situation, placing)), *findings]
    if state is State.WAITING and not any(item.blocks for item in findings):
        findings += _without_cause(situation, complete=not unread)
    if state is State.STARTED and situation.unplaced:
        findings.append(_beyond(situation))
    return Explanation(situation, state, tuple(findings), tuple(unread.values()))


def _stages(situation: Situation) -> Iterator[Callable[[Situation], Iterator[Finding]]]:
    """Those that are about every gang, and those about the scheduler of this one."""
    if is_native(situation):
        of_others = _OF_VOLCANO | {coscheduling}
    elif is_coscheduled(situation):
        of_others = _OF_VOLCANO | {native_gang}
    else:
        of_others = frozenset({coscheduling, native_gang})
    return (stage for stage in STAGES if stage not in of_others)


def _of_inactive(situation: Situation) -> Iterator[Finding]:
    """Why a job is suspended or has failed."""
    ref, end = situation.job.ref, situation.end
    if situation.state is State.SUSPENDED and (held := tuple(kueue(situation))):
        yield from (*held, *queued_twice(situation))
    elif situation.state is State.SUSPENDED and (name := queue_of(situation)) and is_served(situation) is False:
        yield finding(
            "Suspended",
            f"{ref} is suspended: its controller creates no pods. {QUEUE_LABEL} leaves it to LocalQueue {name} of "
            f"Kueue, but the API server serves no {GROUP}: nothing resumes it.",
            needed="suspend: false, or Kueue.",
            todo="set suspend to false and remove the label, or install Kueue.",
            objects=[ref],
        )
    elif situation.state is State.SUSPENDED:
        volcano = ref.group == "batch.volcano.sh"
        paths = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
        wrote = dict.fromkeys(name for path in paths for name in writers_of(situation.obj, *path))
        yield finding(
            "Aborted" if volcano else "Suspended",
            f"{ref} is {'aborted' if volcano else 'suspended'}: its controller creates no pods.",
            needed="a job that is not aborted." if volcano else "suspend: false.",
            todo=f"resume it: vcctl job resume -n {ref.namespace} -N {ref.name}."
            if volcano
            else "set suspend to false, or find what suspends the job: a queueing system such as Kueue does.",
            objects=[ref],
            details=[f"suspend was written by field manager {few([*wrote])}"] if wrote else [],
        )
    if situation.state in {State.SUCCEEDED, State.FAILED}:
        yield from (replace(item, blocks=False) for item in (*no_replicas(situation), *ran_in_part(situation)))
    if situation.state is State.FAILED and end:
        yield finding(
            "Failed",
            f"{ref} has failed: {end[1].rstrip('.')}.",
            needed="a job that has not ended; a failed job does not start again.",
            todo="read the logs of its pods, fix the cause, and recreate the job.",
            objects=[ref],
        )


def _unread_of_kueue(unread: Mapping[str, Unread]) -> Iterator[Unread]:
    """What could not be read of Kueue: the rest says nothing of a job that is suspended or has ended."""
    yield from (item for name, item in unread.items() if name.endswith(GROUP))


def _beyond(situation: Situation) -> Finding:
    """Pods that the gang does not need for its start, and that have no node; a driver may wait for its executors."""
    rest = situation.unplaced
    said = (conditions(pod).get("PodScheduled", {}).get("message") for pod in rest)
    return finding(
        "RestWaits",
        f"{counted(len(rest), 'pod')} beyond the {situation.minimum} that the gang needs for its start "
        f"{'has' if len(rest) == 1 else 'have'} no node: it counts as started without them.",
        needed="room for them, where the job cannot work without.",
        todo="do what the scheduler says of them, or have the gang count them in its minimum.",
        objects=[Ref.of(pod) for pod in rest[:1]],
        details=tuple(dict.fromkeys(text for text in said if text)),
        blocks=False,
    )


def _without_cause(situation: Situation, *, complete: bool) -> Iterator[Finding]:
    """No stage found a cause: report that instead of guessing one."""
    age, place = situation.facts.taken - situation.job.created, situation.facts.expectations.scheduler
    missing = f"{len(situation.pods)} exist, {len(situation.placed)} have a node"
    if age < _YOUNG_SECONDS:
        yield finding(
            "Young",
            f"the job was created {age:.0f} s ago, and nothing blocks it.",
            needed="a few seconds.",
            todo="run the command again.",
            blocks=False,
        )
    elif situation.job.foreign and not situation.pods and not situation.group:
        ref = situation.job.ref
        yield finding(
            "ControllerSilent",
            f"{ref} has no pod {age:.0f} s after it was created, and its controller says nothing of it.",
            needed=f"a controller of {ref.kind} that runs, and may create its pods and what is beside them.",
            todo="see that its controller runs, and read its log, which says when it lacks rights, as on PodGroups.",
            objects=[ref],
            details=last_warning(situation),
        )
    elif is_native(situation):
        yield from waits(situation)
    elif complete and is_coscheduled(situation):
        yield finding(
            "Unexplained",
            f"no known cause: {has_room(situation, 'nodes and claims')}, {missing}. Whether "
            f"{SECOND_SCHEDULER} runs, its configuration, and the order of its queue were not examined.",
            needed="a scheduler and a controller that work on the job.",
            todo="read their last messages below and the scheduler's log; check F1 validates the scheduler.",
            objects=[situation.job.ref, SECOND_SCHEDULER],
            commands=[f"kubectl -n {SECOND_SCHEDULER.namespace} logs deployment/{SECOND_SCHEDULER.name} --tail 100"],
        )
    elif complete and situation.group and not situation.phase and (lease := abandoned(situation.facts, place)):
        yield finding(
            "LeaseHeld",
            f"{situation.group_ref} has no phase after {age:.0f} s: {place} is up and does nothing, because "
            f"{lease.found}.",
            needed="a Lease that the scheduler can take; a restart does not help.",
            todo="free it: a replica takes it within seconds.",
            objects=[place, lease.ref],
            changes=[lease.change],
        )
    elif complete and situation.group and not situation.phase:
        yield finding(
            "SchedulerSilent",
            f"{situation.group_ref} has no phase after {age:.0f} s: no scheduler has handled it, although {place} "
            "is up.",
            needed="a scheduler that is named volcano and watches PodGroups.",
            todo="read its log and restart it: its cache may be stale.",
            objects=[place],
            commands=[f"kubectl -n {place.namespace} logs deployment/{place.name} --tail 100"],
            changes=[f"kubectl -n {place.namespace} rollout restart deployment/{place.name}"],
        )
    elif complete:
        yield finding(
            "Unexplained",
            f"no known cause: {has_room(situation, 'queue, nodes and claims')}, {missing}, PodGroup phase "
            f"{situation.phase or 'none'}.",
            needed="a scheduler and a controller that work on the job.",
            todo="read their last messages below, and their logs.",
            objects=[situation.job.ref],
            commands=[f"kubectl -n {place.namespace} logs deployment/{place.name} --tail 100"],
            details=last_warning(situation),
        )
