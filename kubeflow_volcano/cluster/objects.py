"""Kubernetes objects as plain dicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubeflow_volcano.ref import Ref, group_of

__all__ = ["Object", "Ref", "conditions", "group_of", "has_ended", "last_seen", "named"]

Object = dict[str, Any]
"""One Kubernetes object as parsed from YAML or JSON."""


def conditions(obj: Object) -> dict[str, Object]:
    """The status conditions of `obj` by type; empty if there are none yet."""
    return {item["type"]: item for item in obj.get("status", {}).get("conditions") or ()}


def has_ended(pod: Object) -> bool:
    """Whether a pod runs no more: its containers have ended, and it takes nothing of its node."""
    return (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}


def named(objects: Iterable[Object], kind: str, name: str) -> Object | None:
    """The first of the objects with that kind and name, in any group and namespace."""
    return next((obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)), None)


def last_seen(event: Object) -> str:
    """When an Event was seen last; the older and the newer events API write different fields."""
    series = event.get("series") or {}
    seen = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(seen or event["metadata"]["creationTimestamp"])
