"""Objects in an API version that newer Kubernetes does not serve, in the one with the same fields that replaced it.

Which pairs are alike is data of the release: `replaced_apis`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["in_newer_apis"]


def in_newer_apis(
    parts: Mapping[str, Sequence[Object]], release: Release
) -> tuple[dict[str, tuple[Object, ...]], tuple[str, ...]]:
    """The objects of each component in the newer API versions, and a note for a person about each that was changed."""
    found: dict[str, tuple[Object, ...]] = {}
    notes: list[str] = []
    for name, objects in parts.items():
        kept: list[Object] = []
        for obj in objects:
            old = obj["apiVersion"]
            new = release.replaced_apis.get(old, old)
            kept.append(obj if new == old else {**obj, "apiVersion": new})
            if new != old:
                notes.append(f"{Ref.of(obj)} of {name} is applied as {new}, which has the fields of {old}")
        found[name] = tuple(kept)
    return found, tuple(notes)
