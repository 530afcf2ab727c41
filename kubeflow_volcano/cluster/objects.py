"""Kubernetes objects as plain dicts."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.ref import Ref, group_of

__all__ = ["Object", "Ref", "conditions", "group_of"]

Object = dict[str, Any]
"""One Kubernetes object as parsed from YAML or JSON."""


def conditions(obj: Object) -> dict[str, Object]:
    """The status conditions of `obj` by type; empty if there are none yet."""
    return {item["type"]: item for item in obj.get("status", {}).get("conditions") or ()}
