"""In which namespace an object lands whose text names none: in `default`, as with kubectl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.cluster.api.discovery import Kinds
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import Progress

__all__ = ["placed"]

_DEFAULT = "default"


def placed(kinds: Kinds, parts: Mapping[str, Sequence[Object]], progress: Progress) -> Mapping[str, tuple[Object, ...]]:
    """`parts` in which every object of a namespaced kind names its namespace; upstream has a few that don't."""
    scopes = {
        (obj["spec"]["group"], obj["spec"]["names"]["kind"]): obj["spec"]["scope"] == "Namespaced"
        for objects in parts.values()
        for obj in objects
        if obj["kind"] == CRD_KIND
    }

    def place(obj: Object) -> Object:
        ref = Ref.of(obj)
        if ref.namespace:
            return obj
        known = kinds[ref.api_version].get(ref.kind)
        if not (known.namespaced if known else scopes.get((ref.group, ref.kind), False)):
            return obj
        progress(f"{ref} names no namespace: it goes to {_DEFAULT}, as with kubectl")
        return {**obj, "metadata": {**obj["metadata"], "namespace": _DEFAULT}}

    return {name: tuple(map(place, objects)) for name, objects in parts.items()}
