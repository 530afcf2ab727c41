"""How far the object of an example has come, by its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from kubeflow_volcano.cluster.objects import Object, conditions


class State(IntEnum):
    """How far it has come. The later ones are final."""

    PENDING = 0
    RUNNING = 1
    COMPLETED = 2
    FAILED = 3


_PHASES = {
    "Running": State.RUNNING,
    "Completed": State.COMPLETED,
    "Succeeded": State.COMPLETED,
    "Failed": State.FAILED,
    "Error": State.FAILED,
    "Aborted": State.FAILED,
    "Terminated": State.FAILED,
}
"""Phases of Argo's Workflow and of Volcano's Job."""
_CONDITIONS = {
    "Running": State.RUNNING,
    "Ready": State.RUNNING,
    "Succeeded": State.COMPLETED,
    "Complete": State.COMPLETED,
    "Failed": State.FAILED,
}
"""Conditions of the training operator's jobs, of TrainJob, Experiment and InferenceService."""


def state_of(obj: Object) -> tuple[State, str]:
    """The state of a live object, and what its status says of it."""
    return _READERS.get(obj["kind"], _by_conditions)(obj)


def _by_replicas(obj: Object) -> tuple[State, str]:
    ready = (obj.get("status") or {}).get("readyReplicas") or 0
    return (State.RUNNING if ready else State.PENDING), f"{ready} ready replicas"


def _by_phase(obj: Object) -> tuple[State, str]:
    status = obj.get("status") or {}
    state = status.get("state") or {}
    phase: str = status.get("phase") or state.get("phase") or ""
    message = status.get("message") or state.get("message") or ""
    return _PHASES.get(phase, State.PENDING), f"{phase or 'no phase'}: {message}".rstrip(": ")


def _by_conditions(obj: Object) -> tuple[State, str]:
    held = [item for item in conditions(obj).values() if item.get("status") == "True" and item["type"] in _CONDITIONS]
    if not held:
        return State.PENDING, "no condition that says that it runs"
    furthest = max(held, key=lambda item: _CONDITIONS[item["type"]])
    return _CONDITIONS[furthest["type"]], f"{furthest['type']}: {furthest.get('message', '')}".rstrip(": ")


_READERS: Mapping[str, Callable[[Object], tuple[State, str]]] = {
    "Notebook": _by_replicas,
    "Tensorboard": _by_replicas,
    "Workflow": _by_phase,
    "Job": _by_phase,
}
"""How the kinds are read that have no conditions of their own; all others by conditions."""
