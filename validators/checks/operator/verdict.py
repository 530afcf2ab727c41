"""Verdicts on what an operator made of a job, from the evidence alone: a PodGroup with its pods, and a gang of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.checks.refusals import interruption, refusal
from kubeflow_volcano.validators.core.outcome import Outcome, errored, failed, passed, warned
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence


def operator_verdict(evidence: OperatorEvidence) -> Outcome:
    """Whether the operator made a gang of a job: its PodGroup as the job asks, its pods handed to its scheduler."""
    if evidence.refused and (evidence.group is None or len(evidence.pods) < evidence.replicas):
        return refusal(evidence.refused)
    if evidence.group is None and evidence.failure:
        return interruption(evidence.failure)
    fault = next(_faults(evidence), None)
    objects = _objects(evidence)
    group = evidence.group
    observed = {
        "pod_group": {"minMember": group.minimum, "queue": group.queue} if group else None,
        "phase": group.phase if group else "",
        "pods": {item.name: f"schedulerName {item.scheduler}, group {item.group or 'none'}" for item in evidence.pods},
    }
    queue = f" in queue {evidence.queue}" if evidence.gang.has_queues else ""
    wanted = f"a PodGroup with minMember {evidence.minimum}{queue}, and {evidence.replicas} pods"
    if not fault:
        text = f"a {evidence.job.kind} of {evidence.replicas} workers became {wanted} that {evidence.gang.title} places"
        if not evidence.nudged:
            return passed(f"{text}{_placed(evidence)}.", objects=objects, observed=observed)
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
        expected=f"{wanted} with schedulerName {evidence.gang.scheduler} and the group's name",
        observed=observed,
        objects=objects,
        todo=todo,
        because=("H1",) if reason == "PodsHeldBack" else (),
    )


def held_then_released(evidence: OperatorEvidence) -> Outcome:
    """Whether no pod ran while minMember could not be met, and the job succeeded once it could."""
    held, released = evidence.held, evidence.released
    if held and held.premature:
        names = ", ".join(f"{item.name} on {item.node}" for item in held.bound)
        text = f"{names} bound, although minMember is {evidence.minimum} and the job has {evidence.replicas} pods."
        todo = "enable the scheduler's plugin gang (F4), and see that no admission policy changes minMember."
        return failed("PartialPlacement", text, todo=todo, **_shown(evidence, held))
    if unclear := _unclear(evidence, held):
        return unclear
    if held is None or released is None:
        return errored("NotReached", "the job got no group and pods.", todo="see G5.", because=("G5",))
    return _after(evidence, held, released)


def _unclear(evidence: OperatorEvidence, held: Step | None) -> Outcome | None:
    """Why the experiment with the job says nothing; None where it does."""
    if evidence.refused:
        return refusal(evidence.refused)
    if evidence.disturbed:
        lost = "; ".join(f"{item.name}: {item.lost}" for item in evidence.disturbed)
        text = f"pods of the probe job were deleted or evicted in {counted(evidence.attempts, 'attempt')}: {lost}."
        return errored(
            "Disturbed", text, todo="run again when nothing evicts or drains pods.", **_shown(evidence, held)
        )
    if held and not held.judged:
        seconds = evidence.timing.judged_seconds
        text = f"no pod was bound, but not every member was evaluated within {seconds:.0f} s: that proves nothing."
        return errored(
            "NeverJudged",
            text,
            todo="see whether the scheduler is alive (H1), and run again.",
            **_shown(evidence, held),
        )
    return interruption(evidence.failure) if evidence.failure else None


def _after(evidence: OperatorEvidence, held: Step, released: Step) -> Outcome:
    """The outcome for the job once minMember could be met."""
    if released.reached:
        return passed(
            f"0 of {evidence.replicas} pods were bound in {held.held_seconds:.1f} s after both were evaluated, while "
            f"minMember was {evidence.minimum}; with minMember {evidence.replicas} the job succeeded within "
            f"{released.seconds:.1f} s.",
            objects=_objects(evidence),
            observed=_observed(evidence, released),
        )
    pulls = [item for item in released.members if item.waiting.partition(":")[0] in BAD_IMAGE_REASONS]
    if pulls:
        text = f"the job's image cannot be pulled: {pulls[0].name}: {pulls[0].waiting}"
        todo = "copy it to where the nodes pull from; it is in the image list of playbooks/plan.yml."
        return errored("ImageMissing", text, todo=todo, **_shown(evidence, released))
    pods = ", ".join(f"{item.name} is {item.phase} on {item.node or 'no node'}" for item in released.members)
    said = f"after {released.seconds:.0f} s the job is {evidence.state or 'without a condition'}; {pods}"
    if len(released.bound) < evidence.replicas:
        text = f"minMember could be met, and the pods were not bound: {said}"
        carried = any(item.minimum <= evidence.replicas for item in released.groups)
        todo = "see whether the operator carries minAvailable over to the PodGroup, and read its log."
        if carried:
            text += "; its PodGroup has that minMember, so only the scheduler had to act"
            todo = f"see whether {evidence.gang.scheduler} is alive (H1) and the cluster has room."
        return failed("GangNotReleased", text, todo=todo, **_shown(evidence, released))
    text = f"the gang was bound, but the job did not succeed: {said}"
    if added := sorted({name for item in released.members for name in item.outlasting}):
        text += f"; its own containers have ended, and {', '.join(added)}, which a webhook added, runs on"
        todo = "let that webhook leave out pods of jobs, or add an init container with restartPolicy Always instead."
        return failed("OutlastedByInjected", text, todo=todo, **_shown(evidence, released))
    return failed(
        "JobNotSucceeded", text, todo="read the operator's log and the pods' events.", **_shown(evidence, released)
    )


def _shown(evidence: OperatorEvidence, step: Step | None) -> dict[str, Any]:
    return {
        "expected": "no pod bound while minMember cannot be met, and the job succeeded once it can",
        "observed": _observed(evidence, step) if step else {},
        "objects": _objects(evidence),
        "evidence": step.as_file if step else {},
    }


def _observed(evidence: OperatorEvidence, step: Step) -> dict[str, object]:
    return {
        "state": evidence.state,
        "bound": {item.name: f"{item.node} at {item.bound_at}" for item in step.bound},
        "groups": {item.name: item.phase for item in step.groups},
        "held_seconds": evidence.held.held_seconds if evidence.held else 0.0,
        "seconds": step.seconds,
        "attempts": evidence.attempts,
        "events": step.events,
    }


def _objects(evidence: OperatorEvidence) -> tuple[Ref, ...]:
    return evidence.job, Ref(*evidence.gang.podgroup, evidence.job.namespace, evidence.job.name)


def _placed(evidence: OperatorEvidence) -> str:
    """Where the pods went; nothing of a gang that cannot be whole."""
    if evidence.minimum > evidence.replicas:
        return ""
    nodes = sorted({item.node for item in evidence.pods if item.node})
    if all(item.node for item in evidence.pods):
        return f", and were placed on {', '.join(nodes)}"
    return f", and were not placed within {evidence.timing.placed_seconds:.0f} s, of which H1 says more"


def _faults(evidence: OperatorEvidence) -> Iterator[tuple[str, str, str]]:
    """Reason, message and what to do, of each thing that is not as a gang needs it, the most telling first."""
    group, made, wanted = evidence.group, len(evidence.pods), evidence.replicas
    wiring = "its runtimes (G7)" if evidence.job.kind == "TrainJob" else "its gang arguments (G1)"
    if group is None:
        message = f"the operator made no PodGroup within {evidence.timing.made_seconds:.0f} s, and {made} pods."
        yield "NoPodGroup", message, f"see {wiring} and its log; restart it if it is older than {evidence.gang.title}."
        return
    policy = "see that no admission policy changes PodGroups."
    if group.minimum != evidence.minimum:
        message = f"the PodGroup has minMember {group.minimum} instead of {evidence.minimum}."
        yield "WrongMinimum", message, policy
    if evidence.gang.has_queues and group.queue != evidence.queue:
        yield "WrongQueue", f"the PodGroup is in queue {group.queue!r}, not {evidence.queue}.", policy
    if made < wanted and group.tells and group.phase in {"", "Pending"}:
        message = f"the PodGroup has phase {group.phase or 'unset'}: until that changes the operator makes no pods."
        yield "PodsHeldBack", message, "see whether the scheduler is alive (H1) and the cluster has room."
    elif made < wanted:
        todo = "restart the operator, and read its log."
        phase = group.phase or "there"
        yield "PodsMissing", f"the PodGroup is {phase}, and only {made} of {wanted} pods came.", todo
    scheduler = evidence.gang.scheduler
    stray = [item for item in evidence.pods if item.scheduler != scheduler or item.group != group.name]
    if stray:
        note = ", ".join(f"{item.name} has schedulerName {item.scheduler} and group {item.group!r}" for item in stray)
        yield "PodsNotGanged", f"{note}.", f"see {wiring}."
