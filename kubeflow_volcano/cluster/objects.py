"""Kubernetes objects as plain dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kubeflow_volcano.ref import Ref, group_of

__all__ = [
    "Object",
    "Ref",
    "conditions",
    "group_of",
    "has_ended",
    "last_seen",
    "mappings_in",
    "named",
    "new_object",
    "pod_specs",
]

Object = dict[str, Any]
"""One Kubernetes object as parsed from YAML or JSON."""

_NUMBERS = {"observedGeneration": int}
"""The type of those fields of conditions that are no texts."""


def new_object(
    api_version: str, kind: str, name: str, namespace: str = "", *, meta: Object | None = None, **fields: Any
) -> Object:
    """An object with these fields, as manifests have it; `meta` is further metadata."""
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where, **(meta or {})}, **fields}


def conditions(obj: Object) -> dict[str, Object]:
    """The status conditions of `obj` by type, with their texts; empty if there are none yet.

    The fields are those of metav1.Condition. What has another shape is none: a CRD may say nothing of its status, and
    Volcano's jobs keep a history without types under that name.
    """
    status = obj.get("status")
    found = status.get("conditions") if isinstance(status, dict) else None
    return {
        item["type"]: {key: value for key, value in item.items() if isinstance(value, _NUMBERS.get(key, str))}
        for item in (found if isinstance(found, list) else ())
        if isinstance(item, dict) and isinstance(item.get("type"), str)
    }


def mappings_in(value: Any) -> Iterator[Object]:
    """Every mapping in a value, itself first."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from mappings_in(inner)


def pod_specs(obj: Object) -> Iterator[Object]:
    """The specs of all pods in an object, templates in jobs included."""
    return (item for item in mappings_in(obj) if isinstance(item.get("containers"), list))


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
