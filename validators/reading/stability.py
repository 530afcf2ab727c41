"""Watching pods over a window, so that a pod which is ready now and then is not taken for one that is ready."""

from __future__ import annotations

import time
from collections import Counter
from typing import Self

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess_pod
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.resources import PODS
from kubeflow_volcano.validators.reading.trimming import trim_of
from kubeflow_volcano.validators.subjects.issues import created
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.pods import Window, waits_for_gang

_TICK = 0.5
_STRETCH = 1.0
_SILENT_SECONDS = 60.0
"""No page of the first list takes longer, however many there are."""
_SECONDS_BETWEEN_LINES = 5.0
_PODS = Subject("v1", "Pod")


class Watch:
    """All pods are watched for `seconds` from when they are known, in a thread, within the `with` block."""

    def __init__(self, cluster: Cluster, seconds: float, grace_seconds: float) -> None:
        self._cluster = cluster
        self._seconds = seconds
        self._grace = grace_seconds
        deadline = Deadline(seconds + grace_seconds + _SILENT_SECONDS)
        trim = trim_of(PODS)

        def take(pod: Object) -> None:
            deadline.renew()
            trim(pod)

        self._observer = Observer(cluster, [_PODS], deadline, stretch=_STRETCH, trim=take)

    def __enter__(self) -> Self:
        self._observer.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._observer.__exit__(*error)

    def seen(self, progress: Progress) -> tuple[Window, tuple[Object, ...]]:
        """Wait for the end of the window, and at most a minute more while a young pod has yet to become ready.

        With the window come the pods as they were at its end, trimmed.

        Raises:
            ApiError: pods may not be read, or the watch did not deliver all events.
        """
        turns, seconds, note = Turns(), self._seconds, 0.0
        for change in self._observer.changes(_TICK):
            if change:
                turns.take(change)
            late = turns.late(time.time(), self._grace) if turns.watched < seconds + self._grace else []
            if turns.watched >= seconds and not late:
                return Window(turns.watched, dict(turns.flapped), dict(turns.restarted)), tuple(turns.pods.values())
            if late and turns.watched >= max(seconds, note + _SECONDS_BETWEEN_LINES):
                note = turns.watched
                progress(f"waiting for {counted(len(late), 'young pod')}, first {late[0]}")
        trouble = self._cluster.trouble or "nothing more was heard"
        raise ApiError(0, "NoAnswer", f"the watch over the pods broke off: {trouble}")


class Turns:
    """Pods as they were last seen, and what changed for the worse from one sight to the next."""

    def __init__(self) -> None:
        self.flapped: Counter[Ref] = Counter()
        self.restarted: Counter[Ref] = Counter()
        self.pods: dict[str, Object] = {}
        """By uid."""
        self._young: dict[str, float] = {}
        """When a pod that may still become ready was created, by uid."""
        self._since: float | None = None
        self._current = 0.0

    @property
    def watched(self) -> float:
        """For how many seconds all events have been delivered; 0 before all pods were known."""
        return self._current - self._since if self._since is not None else 0.0

    def take(self, change: Change) -> None:
        """Take note of what the watch says; after a break in it, of what is there now."""
        if change.type == "RESET":
            before, self.pods = self.pods, {}
            self._young.clear()
            for pod in change.objects:
                self._see(pod, before.get(pod["metadata"]["uid"]))
            self._since = change.at if self._since is None else self._since
        elif change.type == "DELETED":
            for pod in change.objects:
                self.pods.pop(pod["metadata"]["uid"], None)
                self._young.pop(pod["metadata"]["uid"], None)
        else:
            for pod in change.objects:
                self._see(pod, self.pods.get(pod["metadata"]["uid"]))
        if change.type in {"RESET", "CURRENT"}:
            self._current = change.at

    def late(self, now: float, grace_seconds: float) -> list[Ref]:
        """Pods that are not ready and are young enough to become so."""
        return [_ref(self.pods[uid]) for uid, since in self._young.items() if now - since < grace_seconds]

    def _see(self, pod: Object, before: Object | None) -> None:
        uid = pod["metadata"]["uid"]
        self.pods[uid] = pod
        if _may_become_ready(pod):
            self._young[uid] = created(pod)
        else:
            self._young.pop(uid, None)
        if before and not _of_probe(pod):
            if _turned(before, pod) and not _on_purpose(pod):
                self.flapped[_ref(pod)] += 1
            if (more := _restarts(pod) - _restarts(before)) > 0:
                self.restarted[_ref(pod)] += more


def _ref(pod: Object) -> Ref:
    return Ref("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])


def _ready(pod: Object) -> Object | None:
    """The pod's condition Ready where it is true."""
    ready = conditions(pod).get("Ready", {})
    return ready if ready.get("status") == "True" else None


def _turned(before: Object, now: Object) -> bool:
    """Whether a pod that was ready is not, or was not in between: then it is ready since another time."""
    former, ready = _ready(before), _ready(now)
    if former is None:
        return False
    return ready is None or ready.get("lastTransitionTime") != former.get("lastTransitionTime")


def _restarts(pod: Object) -> int:
    return sum(item.get("restartCount", 0) for item in pod.get("status", {}).get("containerStatuses") or ())


def _may_become_ready(pod: Object) -> bool:
    if _ready(pod) or waits_for_gang(pod) or _of_probe(pod):
        return False
    return assess_pod(pod).state is State.WAIT


def _of_probe(pod: Object) -> bool:
    return RUN_LABEL in (pod["metadata"].get("labels") or {})


def _on_purpose(pod: Object) -> bool:
    owner = workload_of(pod)
    ended = pod.get("status", {}).get("phase") == "Succeeded" or (owner and owner.kind == "Job")
    return bool(ended) or "deletionTimestamp" in pod["metadata"]
