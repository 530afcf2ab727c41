"""Corrections of upstream's text that are data of the release: `joint_values` and `replaced_apis`.

kustomize's `vars` have no scope: in one build of several components, a name that two of them use has the value that one
of them gives. Components are built one by one here, so those placeholders are filled afterwards. And newer Kubernetes
no longer serves some API versions, which others with the same fields have replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeflow_volcano.catalog.model import JointValue, Release
from kubeflow_volcano.cluster.objects import Object, Ref


def fill_joint_values(parts: Mapping[str, tuple[Object, ...]], release: Release) -> dict[str, tuple[Object, ...]]:
    """The objects of each component, with the placeholders filled whose provider is among the components."""
    filled = dict(parts)
    for item in release.joint_values:
        if parts.get(item.provider) and item.component in filled:
            filled[item.component] = tuple(_filled(obj, item) for obj in filled[item.component])
    return filled


def replace_apis(
    parts: Mapping[str, Sequence[Object]], release: Release
) -> tuple[dict[str, tuple[Object, ...]], tuple[str, ...]]:
    """The objects of each component in API versions that are served, and a note for a person per changed object."""
    replaced: dict[str, tuple[Object, ...]] = {}
    notes: list[str] = []
    for name, objects in parts.items():
        kept: list[Object] = []
        for obj in objects:
            old = obj["apiVersion"]
            new = release.replaced_apis.get(old, old)
            kept.append(obj if new == old else {**obj, "apiVersion": new})
            if new != old:
                notes.append(f"{Ref.of(obj)} of {name} is applied as {new}, which has the fields of {old}")
        replaced[name] = tuple(kept)
    return replaced, tuple(notes)


def _filled(obj: Object, item: JointValue) -> Object:
    meta = obj["metadata"]
    annotations = meta.get("annotations") or {}
    if (obj["kind"], meta["name"]) != ("CustomResourceDefinition", item.crd):
        return obj
    if annotations.get(item.annotation) != item.placeholder:
        return obj
    return {**obj, "metadata": {**meta, "annotations": {**annotations, item.annotation: item.value}}}
