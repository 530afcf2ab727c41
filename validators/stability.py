"""Watching pods over a window, so that a pod which is ready now and then is not taken for one that is ready."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess_pod
from kubeflow_volcano.cluster.watching import Observer, Subject
from kubeflow_volcano.progress import Progress
from validators.facts import RUN_LABEL, Window
from validators.pods import waits_for_gang, workload_of
from validators.troubles import GRACE_SECONDS, created

__all__ = ["watch"]

_TICK = 0.5
_PODS = Subject("v1", "Pod")


@dataclass(frozen=True, slots=True)
class _Look:
    ready: bool
    restarts: int


def watch(cluster: Cluster, seconds: float, progress: Progress) -> Window:
    """Watch all pods for `seconds`, and on, at most a minute, while a young pod has yet to become ready.

    Raises:
        ApiError: pods may not be read.
    """
    deadline = Deadline(seconds + GRACE_SECONDS)
    flapped: Counter[Ref] = Counter()
    restarted: Counter[Ref] = Counter()
    pods: dict[str, Object] = {}
    told = 0.0
    with Observer(cluster, [_PODS], deadline) as observer:
        for change in observer.changes(_TICK):
            if change and change.type == "RESET":
                pods = _kept(pods, change.objects, flapped, restarted)
            elif change and change.type == "DELETED":
                pods.pop(change.objects[0]["metadata"]["uid"], None)
            elif change:
                pods |= _kept(pods, change.objects, flapped, restarted)
            late = [Ref.of(item) for item in pods.values() if _may_still_come(item)]
            if deadline.elapsed >= seconds and not late:
                break
            if deadline.elapsed >= seconds and deadline.elapsed - told >= 5:  # noqa: PLR2004  seconds between lines
                told = deadline.elapsed
                progress(f"waiting for {len(late)} young pods, first {late[0]}")
    return Window(deadline.elapsed, dict(flapped), dict(restarted))


def _kept(
    before: dict[str, Object], now: tuple[Object, ...], flapped: Counter[Ref], restarted: Counter[Ref]
) -> dict[str, Object]:
    """The pods as they are now, by uid; counts what changed for the worse since before."""
    for pod in now:
        former = before.get(pod["metadata"]["uid"])
        if former is None or RUN_LABEL in (pod["metadata"].get("labels") or {}):
            continue
        ref, old, new = (
            Ref("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"]),
            _look(former),
            _look(pod),
        )
        if old.ready and not new.ready and not _on_purpose(pod):
            flapped[ref] += 1
        if new.restarts > old.restarts:
            restarted[ref] += new.restarts - old.restarts
    return {pod["metadata"]["uid"]: {"apiVersion": "v1", "kind": "Pod"} | pod for pod in now}


def _look(pod: Object) -> _Look:
    restarts = sum(item.get("restartCount", 0) for item in pod.get("status", {}).get("containerStatuses") or ())
    return _Look(conditions(pod).get("Ready", {}).get("status") == "True", restarts)


def _on_purpose(pod: Object) -> bool:
    owner = workload_of(pod)
    ended = pod.get("status", {}).get("phase") == "Succeeded" or (owner and owner.kind == "Job")
    return bool(ended) or "deletionTimestamp" in pod["metadata"]


def _may_still_come(pod: Object) -> bool:
    return (
        assess_pod(pod).state is State.WAIT
        and time.time() - created(pod) < GRACE_SECONDS
        and not waits_for_gang(pod)
        and RUN_LABEL not in (pod["metadata"].get("labels") or {})
    )
