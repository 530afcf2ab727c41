"""The address of a Kubernetes object. Not in `cluster`, because the catalog names objects, too."""

from __future__ import annotations

from typing import Any, NamedTuple, Self


class Ref(NamedTuple):
    """The address of one object within a cluster; `namespace` is empty for cluster-scoped objects.

    A tuple, because a graph of 600 objects hashes refs a hundred thousand times.
    """

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: dict[str, Any]) -> Self:
        """The address in the metadata of `obj`; a manifest may omit the namespace."""
        meta = obj["metadata"]
        return cls(obj["apiVersion"], obj["kind"], meta.get("namespace") or "", meta["name"])

    @property
    def group(self) -> str:
        """API group, empty for the core group."""
        return group_of(self.api_version)

    @property
    def full_kind(self) -> str:
        """Kind and group, as kubectl accepts them: Deployment.apps; of the core group the kind alone."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def for_kubectl(self, resource: str = "") -> str:
        """Arguments that name the object to kubectl; `resource` is the name of its kind, by default `full_kind`."""
        where = f" -n {self.namespace}" if self.namespace else ""
        return f"{resource or self.full_kind} {self.name}{where}"

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def group_of(api_version: str) -> str:
    """API group of an `apiVersion`; empty for the core group."""
    return api_version.rpartition("/")[0]
