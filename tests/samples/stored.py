"""Live objects in the place of a cluster, for code that only reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeflow_volcano.cluster.api.client import Listing
from kubeflow_volcano.cluster.objects import Object, Ref


class Stored:
    """A cluster that has these objects, and changes none."""

    def __init__(self, *objects: Object) -> None:
        self.objects = {Ref.of(obj): obj for obj in objects}

    def get(self, ref: Ref, **_: Any) -> Object | None:
        return self.objects.get(ref)

    def list(self, api_version: str, kind: str, *, namespace: str = "", labels: str = "", **_: Any) -> Listing:
        key, _mark, wanted = labels.partition("=")
        found = [
            obj
            for ref, obj in self.objects.items()
            if ref[:2] == (api_version, kind)
            and namespace in {"", ref.namespace}
            and (not key or (obj["metadata"].get("labels") or {}).get(key) == wanted)
        ]
        return Listing(tuple(found), "1")

    def pages(self, api_version: str, kind: str, **how: Any) -> Iterator[Listing]:
        yield self.list(api_version, kind, **how)
