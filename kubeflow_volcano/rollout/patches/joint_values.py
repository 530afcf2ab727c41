"""Placeholders that a component cannot fill by itself, filled as upstream's build of its whole example fills them.

kustomize's `vars` know no bounds: in one build, a name that two components use has the value that one of them gives.
Which placeholders those are is data of the release: `joint_values`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.catalog.model import JointValue, Release
from kubeflow_volcano.cluster.objects import Object

__all__ = ["filled"]


def filled(parts: Mapping[str, tuple[Object, ...]], release: Release) -> dict[str, tuple[Object, ...]]:
    """The objects of each component, with the placeholders filled whose provider is among the components."""
    found = dict(parts)
    for item in release.joint_values:
        if parts.get(item.provider) and item.component in found:
            found[item.component] = tuple(_filled(obj, item) for obj in found[item.component])
    return found


def _filled(obj: Object, item: JointValue) -> Object:
    meta = obj["metadata"]
    annotations = meta.get("annotations") or {}
    if (obj["kind"], meta["name"]) != ("CustomResourceDefinition", item.crd):
        return obj
    if annotations.get(item.annotation) != item.placeholder:
        return obj
    return {**obj, "metadata": {**meta, "annotations": {**annotations, item.annotation: item.value}}}
