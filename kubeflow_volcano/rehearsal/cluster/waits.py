"""Wait by watch until a cluster is complete. What etcd has from before the node's last start does not count."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import few

_REPORT_SECONDS = 2.0
_MOST_TIMES = 10.0
_MOST_RESTARTS = 3

Predicate = Callable[[dict[str, Object]], str]
"""What is still missing, as a phrase; empty when nothing is. The argument is one subject's objects by name."""


def nodes_ready(names: Sequence[str], since: float) -> Predicate:
    """Every node in `names` is Ready and reported it after `since` (seconds since the epoch; 0: at any time)."""

    def missing(nodes: dict[str, Object]) -> str:
        waiting = [name for name in names if not _node_ready(nodes.get(name), since)]
        return f"node{'s' if len(waiting) > 1 else ''} {few(waiting)} to become Ready" if waiting else ""

    return missing


def pods_ready(what: str, since: float) -> Predicate:
    """There is a pod, and all pods that are not being deleted are Ready, with containers started after `since`."""

    def missing(pods: dict[str, Object]) -> str:
        current = [pod for pod in pods.values() if not pod["metadata"].get("deletionTimestamp")]
        if current and all(_pod_ready(pod, since) for pod in current):
            return ""
        reasons = {reason for pod in current for reason in _waiting_reasons(pod)}
        return f"{what} to become Ready" + (f" ({', '.join(sorted(reasons))})" if reasons else "")

    return missing


def exists(what: str) -> Predicate:
    """There is at least one object."""
    return lambda objects: "" if objects else f"{what} to appear"


def wait_for(
    cluster: Cluster, wanted: dict[Subject, Predicate], seconds: float, progress: Progress
) -> dict[Subject, float]:
    """Watch until no predicate misses anything; returns the seconds that each took.

    Gives up when nothing but a heartbeat has changed for `seconds`, and after ten times that in any case.

    Raises:
        ProblemsError: something is still missing; names it.
    """
    deadline = Deadline(seconds * _MOST_TIMES).at_most(seconds)
    signs: dict[Subject, Hashable] = {}
    state: dict[Subject, dict[str, Object]] = {subject: {} for subject in wanted}
    took: dict[Subject, float] = {}
    with Observer(cluster, list(wanted), deadline) as observer:
        reported = 0.0
        for change in observer.changes(tick=1.0):
            if change is not None:
                _merge(state[change.subject], change.type, change.objects)
                news = _signs(state[change.subject])
                if news != signs.get(change.subject):
                    signs[change.subject] = news
                    deadline.renew()
                if not wanted[change.subject](state[change.subject]):
                    took.setdefault(change.subject, deadline.elapsed)
                else:
                    took.pop(change.subject, None)
            if len(took) == len(wanted):
                return took
            if deadline.elapsed - reported >= _REPORT_SECONDS:
                reported = deadline.elapsed
                progress(f"waiting for {_missing(wanted, state)}, {reported:.0f} s")
    raise ProblemsError.problem(
        f"after {deadline.elapsed:.0f} s still waiting for {_missing(wanted, state)}; "
        f"nothing has changed for {seconds:.0f} s, or the whole took {_MOST_TIMES:.0f} times that.",
        "a node and system pods that become Ready.",
        "read the logs of kubelet and containerd "
        "(`python -m kubeflow_volcano.rehearsal logs --name CLUSTER kubelet`); `up` continues to wait.",
    )


def _missing(wanted: dict[Subject, Predicate], state: dict[Subject, dict[str, Object]]) -> str:
    return ", ".join(text for subject, predicate in wanted.items() if (text := predicate(state[subject])))


def _signs(objects: dict[str, Object]) -> Hashable:
    """Changes when one of the objects gets further: not with a heartbeat, nor for ever with restarts."""
    return tuple(
        (
            name,
            tuple((kind, condition.get("status")) for kind, condition in sorted(conditions(obj).items())),
            tuple(
                sorted(
                    (item["name"], min(item.get("restartCount", 0), _MOST_RESTARTS), tuple(item.get("state", ())))
                    for item in (obj.get("status") or {}).get("containerStatuses") or ()
                )
            ),
        )
        for name, obj in sorted(objects.items())
    )


def _merge(objects: dict[str, Object], kind: str, news: Sequence[Object]) -> None:
    if kind == "RESET":
        objects.clear()
    for obj in news:
        if kind == "DELETED":
            objects.pop(obj["metadata"]["name"], None)
        else:
            objects[obj["metadata"]["name"]] = obj


def _node_ready(node: Object | None, since: float) -> bool:
    ready = conditions(node).get("Ready", {}) if node else {}
    return ready.get("status") == "True" and (not since or _seconds(ready.get("lastHeartbeatTime")) >= int(since))


def _pod_ready(pod: Object, since: float) -> bool:
    starts = [item.get("state", {}).get("running", {}) for item in pod["status"].get("containerStatuses") or ()]
    return conditions(pod).get("Ready", {}).get("status") == "True" and all(
        _seconds(running.get("startedAt")) >= int(since) for running in starts
    )


def _waiting_reasons(pod: Object) -> list[str]:
    states: list[dict[str, Any]] = [item.get("state", {}) for item in pod["status"].get("containerStatuses") or ()]
    return [state["waiting"]["reason"] for state in states if "reason" in state.get("waiting", {})]


def _seconds(timestamp: str | None) -> float:
    """Seconds since the epoch of a Kubernetes time (whole seconds, UTC)."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
