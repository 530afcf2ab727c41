"""Kubernetes objects as plain dicts, and how to name one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

__all__ = ["Object", "Ref", "conditions", "group_of"]

Object = dict[str, Any]
"""One Kubernetes object as parsed from YAML or JSON."""


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The address of one object within a cluster; `namespace` is empty for cluster-scoped objects."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Object) -> Self:
        """Address of `obj` as its own text says; a manifest may leave the namespace out."""
        meta = obj["metadata"]
        return cls(obj["apiVersion"], obj["kind"], meta.get("namespace") or "", meta["name"])

    @property
    def group(self) -> str:
        """API group, empty for the core group."""
        return group_of(self.api_version)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def group_of(api_version: str) -> str:
    """API group of an `apiVersion`; empty for the core group."""
    return api_version.rpartition("/")[0]


def conditions(obj: Object) -> dict[str, Object]:
    """The status conditions of `obj` by their type; empty when nothing has written any yet."""
    return {item["type"]: item for item in obj.get("status", {}).get("conditions") or ()}
