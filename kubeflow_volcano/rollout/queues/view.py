"""Volcano's queues: state, child queues, and the jobs and PodGroups in each."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import parent_queue
from kubeflow_volcano.cluster.watch.observer import Change, Subject

API = "scheduling.volcano.sh/v1beta1"
DEFAULT_QUEUE = Ref(API, "Queue", "", "default")
"""Made by Volcano's scheduler at its start, once the webhook of Queues answers; pods of gangs wait without it."""
_QUEUES = Subject(API, "Queue")
_GROUPS = Subject(API, "PodGroup")
_JOBS = Subject("batch.volcano.sh/v1alpha1", "Job")
SUBJECTS = (_QUEUES, _GROUPS, _JOBS)
"""The collections that show whether a queue is drained."""

_ENDED = frozenset({"Completed", "Failed", "Terminated"})
"""Final phases of Volcano's Job; an aborted Job can be resumed, in its queue."""


def state_of(queue: Object) -> str:
    """Open, Closing, Closed or Unknown; Open if Volcano's controllers have not reconciled the queue yet."""
    return str((queue.get("status") or {}).get("state") or "Open")


def minimal_queue(name: str, state: str = "") -> Object:
    """A queue with only its name and state, for the difference that a run shows."""
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, **({"state": state} if state else {})}


def list_queues(cluster: Cluster) -> dict[str, Object]:
    """All queues by name; empty if Volcano is not installed.

    Raises:
        ApiError: queues cannot be listed.
    """
    return {item["metadata"]["name"]: item for item in _read(cluster, _QUEUES)}


class QueueView:
    """Queues and the jobs in them, from a watch or from one listing."""

    def __init__(self) -> None:
        self._objects: dict[Subject, dict[tuple[str, str], Object]] = {}

    @classmethod
    def read(cls, cluster: Cluster) -> QueueView:
        """List the current state.

        Raises:
            ApiError: queues, PodGroups or Jobs cannot be listed.
        """
        view = cls()
        for subject in SUBJECTS:
            view._put(subject, _read(cluster, subject))
        return view

    @property
    def complete(self) -> bool:
        """Whether every collection has been listed once."""
        return len(self._objects) == len(SUBJECTS)

    def take(self, change: Change) -> None:
        """Update the view by one change."""
        if change.type == "RESET":
            self._put(change.subject, change.objects)
            return
        known = self._objects.setdefault(change.subject, {})
        for obj in change.objects:
            if change.type == "DELETED":
                known.pop(_key(obj), None)
            else:
                known[_key(obj)] = obj

    def jobs(self, queue: str) -> list[str]:
        """The jobs in a queue as "kind namespace/name (phase)", sorted; a job and its PodGroup count once.

        A PodGroup counts as long as it exists: even if all of its pods have ended, it keeps its queue in Closing
        (pkg/controllers/queue of Volcano v1.8.0 to v1.15.1).
        """
        phases: dict[str, str] = {}
        for obj in self._objects[_JOBS].values():
            phase = str(((obj.get("status") or {}).get("state") or {}).get("phase") or "Pending")
            if _queue_of(obj) == queue and phase not in _ENDED:
                phases[_title(obj, "Job", obj["metadata"]["name"])] = phase
        for obj in self._objects[_GROUPS].values():
            if _queue_of(obj) == queue:
                owners = obj["metadata"].get("ownerReferences") or ()
                owner: Object = next((item for item in owners if item.get("controller")), {})
                title = _title(obj, owner.get("kind", "PodGroup"), owner.get("name", obj["metadata"]["name"]))
                phases[title] = str((obj.get("status") or {}).get("phase") or "Pending")
        return [f"{title} ({phase})" for title, phase in sorted(phases.items())]

    def queue(self, name: str) -> Object | None:
        """The live queue; None if it does not exist."""
        return self._objects[_QUEUES].get(("", name))

    def is_drained(self, queue: str) -> bool:
        """Whether a queue is Closed and has neither jobs nor child queues."""
        live = self.queue(queue)
        return live is not None and state_of(live) == "Closed" and not self.jobs(queue) and not self.children(queue)

    def children(self, queue: str) -> list[str]:
        """The names of the child queues of a queue."""
        return sorted(name for (_, name), obj in self._objects[_QUEUES].items() if parent_queue(obj) == queue)

    def _put(self, subject: Subject, objects: Iterator[Object] | tuple[Object, ...]) -> None:
        self._objects[subject] = {_key(obj): obj for obj in objects}


def _read(cluster: Cluster, subject: Subject) -> tuple[Object, ...]:
    try:
        return cluster.list(subject.api_version, subject.kind).items
    except NotServed:
        return ()


def _queue_of(obj: Object) -> str:
    return str((obj.get("spec") or {}).get("queue") or "default")


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _title(obj: Object, kind: str, name: str) -> str:
    return f"{kind} {obj['metadata']['namespace']}/{name}"
