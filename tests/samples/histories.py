"""Watch histories written by hand, for tests of what scenarios make of them. Time passes in them only by `later`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.gang_demo.play.history import JOB_NAME, ROLE, History

_WHEN = "2026-01-01T00:00:00Z"
_News = Literal["RESET", "ADDED", "MODIFIED", "DELETED"]


class _Nobody:
    """Stands for the cluster of a record that is never asked to look."""


def pod(
    name: str,
    *,
    node: str = "",
    phase: str = "",
    judged: bool = False,
    message: str = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
    scheduler: str = "volcano",
    job: str = "",
    role: str = "",
    labels: Mapping[str, str] | None = None,
    namespace: str = "n",
) -> Object:
    """A pod; it runs where it has a node, unless `phase` says otherwise. Its name is its UID.

    When it was `judged`, the scheduler has refused it with that message.
    """
    refusal = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": _WHEN}
    found = [refusal | {"message": message}]
    own = ({JOB_NAME: job} if job else {}) | ({ROLE: role} if role else {}) | dict(labels or {})
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": name, "labels": own, "creationTimestamp": _WHEN},
        "spec": {"nodeName": node, "schedulerName": scheduler},
        "status": {"phase": phase or ("Running" if node else "Pending"), "conditions": found if judged else []},
    }


def group(
    phase: str, minimum: int, *, name: str = "g", judged: bool = True, queue: str = "default", namespace: str = "n"
) -> Object:
    """A PodGroup; one that was judged has the condition Unschedulable."""
    found = [{"type": "Unschedulable", "reason": "NotEnoughResources", "transitionID": "7"}] if judged else []
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "uid": f"group-{name}"},
        "spec": {"minMember": minimum, "queue": queue},
        "status": {"phase": phase, "conditions": found},
    }


def history(*objects: Object, gang: GangScheduler = VOLCANO) -> History:
    """A history that saw these come, in order; a later state of a pod is told as the same pod again."""
    record = History(cast("Cluster", _Nobody()), "n", "", iter(()), gang=gang)
    return seen(record, *objects)


def seen(record: History, *objects: Object) -> History:
    """The same history, after it saw these as well; other kinds than pods and PodGroups need their apiVersion."""
    for item in objects:
        _tell(record, item, "MODIFIED")
    return record


def deleted(record: History, *objects: Object) -> History:
    """The same history, after it saw these go."""
    for item in objects:
        _tell(record, item, "DELETED")
    return record


def later(record: History, seconds: float) -> History:
    """The same history, after so many seconds in which nothing happened."""
    record.known_until += seconds
    return record


def _tell(record: History, item: Object, kind: _News) -> None:
    version = {"Pod": "v1", "PodGroup": record.gang.api_version}.get(item["kind"]) or item["apiVersion"]
    subject = Subject(version, item["kind"], item["metadata"].get("namespace", ""))
    record.take(Change(subject, kind, (item,), record.known_until))
