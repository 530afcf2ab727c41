"""Watching pods over a window, so that a pod which is ready now and then is not taken for one that is ready."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
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
    """All pods are watched from when they are known, in a thread, within the `with` block. They are listed once."""

    def __init__(self, cluster: Cluster, seconds: float, grace_seconds: float) -> None:
        """At least `seconds` are watched."""
        self._cluster = cluster
        self._seconds = seconds
        self._grace = grace_seconds
        self._turns = Turns()
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
        turns, seconds, note = self._turns, self._seconds, 0.0
        for _ in self._taken():
            late = turns.late(time.time(), self._grace) if turns.watched < seconds + self._grace else []
            if turns.watched >= seconds and not late:
                break
            if late and turns.watched >= max(seconds, note + _SECONDS_BETWEEN_LINES):
                note = turns.watched
                progress(f"waiting for {counted(len(late), 'young pod')}, first {late[0]}")
        return Window(turns.watched, dict(turns.flapped), dict(turns.restarted)), tuple(turns.pods.values())

    def after(self, seconds: float) -> tuple[Object, ...]:
        """The pods as they are in so many seconds, or a moment later.

        Raises:
            ApiError: as for `seen`.
        """
        then = time.monotonic() + seconds
        for _ in self._taken():
            if self._turns.current >= then:
                break
        return tuple(self._turns.pods.values())

    def _taken(self) -> Iterator[None]:
        """After each piece of news, and now and then without any, until the caller has what it waits for."""
        for change in self._observer.changes(_TICK):
            if change:
                self._turns.take(change)
            yield
        trouble = self._cluster.trouble or "nothing more was heard"
        raise ApiError(0, "NoAnswer", f"the watch over the pods broke off: {trouble}")


_Sight = tuple[str | None, int]
"""Of a pod: since when it is ready, None if it is not, and how often its containers were restarted."""


class Turns:
    """Pods as they were last seen, and what changed for the worse from one sight to the next."""

    def __init__(self) -> None:
        self.flapped: Counter[Ref] = Counter()
        self.restarted: Counter[Ref] = Counter()
        self.pods: dict[str, Object] = {}
        """By uid."""
        self.current = 0.0
        """Until when all events have been delivered; 0 before all pods were known."""
        self._lost: dict[str, _Sight] = {}
        """By uid, pods as they were before a break of the watch."""
        self._young: dict[str, float] = {}
        """When a pod that may still become ready was created, by uid."""
        self._since: float | None = None

    @property
    def watched(self) -> float:
        """For how many seconds all events have been delivered; 0 before all pods were known."""
        return self.current - self._since if self._since is not None else 0.0

    def take(self, change: Change) -> None:
        """Take note of what the watch says; after a break in it, of what is there now."""
        if change.type in {"RESET", "LOST"}:  # only what is compared is kept while pods are listed again
            self._lost |= {uid: _sight(pod) for uid, pod in self.pods.items()}
            self.pods.clear()
            self._young.clear()
        if change.type == "RESET":
            for pod in change.objects:
                self._see(pod, self._lost.get(pod["metadata"]["uid"]))
            self._lost.clear()
            self._since = change.at if self._since is None else self._since
        elif change.type == "DELETED":
            for pod in change.objects:
                self.pods.pop(pod["metadata"]["uid"], None)
                self._young.pop(pod["metadata"]["uid"], None)
        else:
            for pod in change.objects:
                before = self.pods.get(pod["metadata"]["uid"])
                self._see(pod, _sight(before) if before else None)
        if change.type in {"RESET", "CURRENT"}:
            self.current = change.at

    def late(self, now: float, grace_seconds: float) -> list[Ref]:
        """Pods that are not ready and are young enough to become so."""
        return [_ref(self.pods[uid]) for uid, since in self._young.items() if now - since < grace_seconds]

    def _see(self, pod: Object, before: _Sight | None) -> None:
        uid = pod["metadata"]["uid"]
        self.pods[uid] = pod
        if _may_become_ready(pod):
            self._young[uid] = created(pod)
        else:
            self._young.pop(uid, None)
        if before and not _of_probe(pod):
            (former, restarts), (since, now) = before, _sight(pod)
            # Ready since another time: it was not in between.
            if former is not None and since != former and not _on_purpose(pod):
                self.flapped[_ref(pod)] += 1
            if now > restarts:
                self.restarted[_ref(pod)] += now - restarts


def _ref(pod: Object) -> Ref:
    return Ref("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])


def _sight(pod: Object) -> _Sight:
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return _ready_since(pod), sum(item.get("restartCount", 0) for item in statuses)


def _ready_since(pod: Object) -> str | None:
    ready = conditions(pod).get("Ready", {})
    return (ready.get("lastTransitionTime") or "") if ready.get("status") == "True" else None


def _may_become_ready(pod: Object) -> bool:
    if _ready_since(pod) is not None or waits_for_gang(pod) or _of_probe(pod):
        return False
    return assess_pod(pod).state is State.WAIT


def _of_probe(pod: Object) -> bool:
    return RUN_LABEL in (pod["metadata"].get("labels") or {})


def _on_purpose(pod: Object) -> bool:
    owner = workload_of(pod)
    ended = pod.get("status", {}).get("phase") == "Succeeded" or (owner and owner.kind == "Job")
    return bool(ended) or "deletionTimestamp" in pod["metadata"]
