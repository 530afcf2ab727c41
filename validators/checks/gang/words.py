"""What the steps of the gang experiment say in common: what they saw, that they came out, and why one says nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.checks.refusals import interruption, refusal
from kubeflow_volcano.validators.core.outcome import Outcome, errored, passed
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence

ENDED_EARLY = frozenset({"ProbeRefused", "ProbeInterrupted", "NotReached"})
"""Reasons of a step that did not come to its end."""


def ended_early(evidence: GangEvidence) -> Outcome:
    """The outcome of a step that did not come to its end."""
    if evidence.refused:
        return refusal(evidence.refused, owns=True)
    if evidence.failure:
        return interruption(evidence.failure)
    return errored("NotReached", "an earlier step of the experiment failed.", todo="see that step.")


def disturbed(evidence: GangEvidence, step: Step) -> Outcome:
    """Probe pods were deleted or evicted, so the step proves nothing."""
    lost = "; ".join(f"{item.name} on {item.node or 'no node'}: {item.lost}" for item in step.disturbed)
    return errored(
        "Disturbed",
        f"probe pods were deleted or evicted in {counted(step.attempts, 'attempt')}: {lost}.",
        expected="probe pods are neither deleted nor evicted during the step",
        todo="run again when no node is being drained and nothing evicts pods.",
        **seen(evidence, step),
    )


def good(evidence: GangEvidence, step: Step, message: str) -> Outcome:
    """The outcome of a step that passed; its notes follow the message."""
    return passed(
        " ".join((message, *step.notes)), objects=step_refs(evidence, step), observed=observed(evidence, step)
    )


def seen(evidence: GangEvidence, step: Step) -> dict[str, Any]:
    """What an outcome about a step shows: what the step saw, its objects, and all of it in a file."""
    return {
        "observed": observed(evidence, step),
        "objects": step_refs(evidence, step),
        "evidence": step.as_file,
    }


def step_refs(evidence: GangEvidence, *steps: Step) -> tuple[Ref, ...]:
    """Groups and pods of steps."""
    groups = [Ref(*evidence.gang.podgroup, evidence.namespace, item.name) for step in steps for item in step.groups]
    pods = [Ref("v1", "Pod", evidence.namespace, item.name) for step in steps for item in step.members]
    return tuple(dict.fromkeys([*groups, *pods]))


def places(evidence: GangEvidence, step: Step) -> str:
    """Nodes of a step, those that are simulated marked as such."""
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
        "nodes": places(evidence, step),
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
