"""Watching pods over a window, so that a pod which is ready now and then is not taken for one that is ready."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess_pod
from kubeflow_volcano.cluster.watching import Change, Observer, Subject
from kubeflow_volcano.progress import Progress
from validators.facts import RUN_LABEL, Window
from validators.pods import waits_for_gang, workload_of
from validators.troubles import GRACE_SECONDS, created

__all__ = ["Turns", "watch"]

_TICK = 0.5
_SECONDS_BETWEEN_LINES = 5.0
_PODS = Subject("v1", "Pod")


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is remembered of a pod: of ten thousand, their whole text would be too much."""

    ref: Ref
    ready: bool
    restarts: int
    waiting_since: float | None
    """When a pod that may still become ready was created."""


def watch(cluster: Cluster, seconds: float, progress: Progress) -> Window:
    """Watch all pods for `seconds`, and on, at most a minute, while a young pod has yet to become ready.

    Raises:
        ApiError: pods may not be read.
    """
    deadline = Deadline(seconds + GRACE_SECONDS)
    turns = Turns()
    told = 0.0
    with Observer(cluster, [_PODS], deadline) as observer:
        for change in observer.changes(_TICK):
            if change:
                turns.take(change)
            late = turns.late(time.time())
            if deadline.elapsed >= seconds and not late:
                break
            if deadline.elapsed >= max(seconds, told + _SECONDS_BETWEEN_LINES):
                told = deadline.elapsed
                progress(f"waiting for {len(late)} young pods, first {late[0]}")
    return Window(deadline.elapsed, dict(turns.flapped), dict(turns.restarted))


class Turns:
    """Pods as they were last seen, and what changed for the worse from one sight to the next."""

    def __init__(self) -> None:
        self.flapped: Counter[Ref] = Counter()
        self.restarted: Counter[Ref] = Counter()
        self._pods: dict[str, _Sight] = {}

    def take(self, change: Change) -> None:
        """Take note of what the watch says; after a break in it, of what is there now."""
        seen = {pod["metadata"]["uid"]: self._compared(pod) for pod in change.objects}
        if change.type == "RESET":
            self._pods = seen
        elif change.type == "DELETED":
            for uid in seen:
                self._pods.pop(uid, None)
        else:
            self._pods |= seen

    def late(self, now: float) -> list[Ref]:
        """Pods that are not ready and are young enough to become so."""
        return [
            item.ref
            for item in self._pods.values()
            if item.waiting_since is not None and now - item.waiting_since < GRACE_SECONDS
        ]

    def _compared(self, pod: Object) -> _Sight:
        new, old = _sight(pod), self._pods.get(pod["metadata"]["uid"])
        if old and not _of_probe(pod):
            if old.ready and not new.ready and not _on_purpose(pod):
                self.flapped[new.ref] += 1
            if new.restarts > old.restarts:
                self.restarted[new.ref] += new.restarts - old.restarts
        return new


def _sight(pod: Object) -> _Sight:
    waits = assess_pod(pod).state is State.WAIT and not waits_for_gang(pod) and not _of_probe(pod)
    return _Sight(
        Ref("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"]),
        conditions(pod).get("Ready", {}).get("status") == "True",
        sum(item.get("restartCount", 0) for item in pod.get("status", {}).get("containerStatuses") or ()),
        created(pod) if waits else None,
    )


def _of_probe(pod: Object) -> bool:
    return RUN_LABEL in (pod["metadata"].get("labels") or {})


def _on_purpose(pod: Object) -> bool:
    owner = workload_of(pod)
    ended = pod.get("status", {}).get("phase") == "Succeeded" or (owner and owner.kind == "Job")
    return bool(ended) or "deletionTimestamp" in pod["metadata"]
