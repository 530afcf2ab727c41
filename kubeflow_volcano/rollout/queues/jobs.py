"""What is in Volcano's queues: the jobs whose PodGroups, or who themselves, name one; and the queues' own state."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject

__all__ = ["API", "SUBJECTS", "QueueView", "read_queues", "shown_queue", "state_of"]

API = "scheduling.volcano.sh/v1beta1"
_QUEUES = Subject(API, "Queue")
_GROUPS = Subject(API, "PodGroup")
_JOBS = Subject("batch.volcano.sh/v1alpha1", "Job")
SUBJECTS = (_QUEUES, _GROUPS, _JOBS)
"""What has to be looked at to know whether a queue is empty."""

_ENDED = frozenset({"Completed", "Failed", "Terminated"})
"""Phases of Volcano's Job that it does not leave again; an aborted one can be resumed, into its queue."""


def state_of(queue: Object) -> str:
    """Open, Closing, Closed or Unknown; one that Volcano's controllers have not seen yet counts as open."""
    return str((queue.get("status") or {}).get("state") or "Open")


def shown_queue(name: str, state: str = "") -> Object:
    """A queue as it is shown where its state changes."""
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, **({"state": state} if state else {})}


def read_queues(cluster: Cluster) -> dict[str, Object]:
    """All queues by name; none where Volcano is not there.

    Raises:
        ApiError: they may not be read.
    """
    return {item["metadata"]["name"]: item for item in _read(cluster, _QUEUES)}


class QueueView:
    """What is known of queues and of the jobs in them, from a watch or from one reading."""

    def __init__(self) -> None:
        self._objects: dict[Subject, dict[tuple[str, str], Object]] = {}

    @classmethod
    def read(cls, cluster: Cluster) -> QueueView:
        """As it is now.

        Raises:
            ApiError: queues, PodGroups or Jobs may not be read.
        """
        view = cls()
        for subject in SUBJECTS:
            view._put(subject, _read(cluster, subject))
        return view

    @property
    def complete(self) -> bool:
        """Whether everything was read once."""
        return len(self._objects) == len(SUBJECTS)

    def take(self, change: Change) -> None:
        """Take in one piece of news."""
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
        """The jobs in a queue, each once, as kind, name and phase; in the order of their names.

        A PodGroup counts as long as it exists, for it keeps its queue from becoming Closed even when all of its pods
        have ended (pkg/controllers/queue of Volcano v1.8.0 to v1.15.1).
        """
        found: dict[str, str] = {}
        for obj in self._objects[_JOBS].values():
            phase = str(((obj.get("status") or {}).get("state") or {}).get("phase") or "Pending")
            if _queue_of(obj) == queue and phase not in _ENDED:
                found[_title(obj, "Job", obj["metadata"]["name"])] = phase
        for obj in self._objects[_GROUPS].values():
            if _queue_of(obj) == queue:
                owners = obj["metadata"].get("ownerReferences") or ()
                owner: Object = next((item for item in owners if item.get("controller")), {})
                title = _title(obj, owner.get("kind", "PodGroup"), owner.get("name", obj["metadata"]["name"]))
                found[title] = str((obj.get("status") or {}).get("phase") or "Pending")
        return [f"{title} ({phase})" for title, phase in sorted(found.items())]

    def queue(self, name: str) -> Object | None:
        """The queue itself; None when there is none."""
        return self._objects[_QUEUES].get(("", name))

    def empty(self, queue: str) -> bool:
        """Whether a queue is closed, without jobs, and no other one is part of it."""
        live = self.queue(queue)
        return live is not None and state_of(live) == "Closed" and not self.jobs(queue) and not self.parts(queue)

    def parts(self, queue: str) -> list[str]:
        """The names of the queues that are part of a queue."""
        return sorted(
            name for (_, name), obj in self._objects[_QUEUES].items() if (obj.get("spec") or {}).get("parent") == queue
        )

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
