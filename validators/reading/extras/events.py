"""The Warning events of the last minutes about objects of the release."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.parallel import in_parallel
from validators.core.facts import Facts, Warned
from validators.subjects.warning_events import RECENT_SECONDS, namespaces

__all__ = ["warning_events"]

_PARALLEL = 6


def warning_events(cluster: Cluster, facts: Facts) -> tuple[Warned, ...]:
    """Warning events of the release's namespaces, newest last; of each only what is judged is kept.

    Raises:
        ApiError: events of one of the namespaces may not be read.
    """
    found = in_parallel(lambda name: tuple(_recent(cluster, name, facts.taken)), namespaces(facts), _PARALLEL)
    return tuple(sorted((item for items in found for item in items), key=lambda item: item.last))


def _recent(cluster: Cluster, namespace: str, now: float) -> Iterator[Warned]:
    for item in cluster.list("v1", "Event", namespace=namespace, fields="type=Warning").items:
        last = _last(item)
        if now - last <= RECENT_SECONDS:
            yield _warned(item, last)


def _warned(event: Object, last: float) -> Warned:
    about = event["involvedObject"]
    where = about.get("apiVersion", ""), about.get("kind", ""), about.get("namespace", ""), about.get("name", "")
    count = (event.get("series") or {}).get("count") or event.get("count") or 1
    return Warned(
        Ref(*where), about.get("uid", ""), event.get("reason", ""), event.get("message", "").strip(), count, last
    )


def _last(event: Object) -> float:
    """When it was seen last, in seconds since the epoch; the older and the newer events API write different fields."""
    series = event.get("series") or {}
    texts = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    text = next((item for item in texts if item), event["metadata"]["creationTimestamp"])
    return datetime.fromisoformat(text).timestamp()
