"""The address of a Kubernetes object. A bottom room: the catalog names objects without talking to a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

__all__ = ["Ref", "group_of"]


class Ref(NamedTuple):
    """The address of one object within a cluster; `namespace` is empty for cluster-scoped objects.

    A tuple, because a graph of 600 objects asks for a hundred thousand hashes of these.
    """

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: dict[str, Any]) -> Self:
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
