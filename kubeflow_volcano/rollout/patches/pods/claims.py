"""Class and size of claims: PersistentVolumeClaims of a component, and those that its StatefulSets create."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.pods.claims import ClaimSettings
from kubeflow_volcano.text import did_you_mean


def with_claims(
    component: str, objects: Iterable[Object], claims: Mapping[str, Mapping[str, ClaimSettings]]
) -> tuple[Object, ...]:
    """The objects of a component with the classes and sizes that the inventory has for its claims, on copies.

    kubeflow_patches are merged into the result, so they win.

    Raises:
        InvalidInput: every name that fits no claim of the component.
    """
    patched = tuple(objects)
    wanted = claims.get(component) or {}
    if not wanted or not patched:
        return patched
    names = sorted({claim["metadata"]["name"] for obj in patched for claim in claims_in(obj)})
    problems = [
        Problem(
            f"kubeflow_claims.{component}.{name}, which is no claim of it.{did_you_mean(name, names)}",
            f"a claim of {component}: {', '.join(names) or 'it has none'}.",
            "correct the name, or remove the entry.",
        )
        for name in wanted
        if name not in names
    ]
    if problems:
        raise InvalidInput(problems)
    result = []
    for given in patched:
        obj = given
        if any(claim["metadata"]["name"] in wanted for claim in claims_in(given)):
            obj = copy.deepcopy(given)
            for claim in claims_in(obj):
                if own := wanted.get(claim["metadata"]["name"]):
                    _set(claim["spec"], own)
        result.append(obj)
    return tuple(result)


def claims_in(obj: Object) -> Iterator[Object]:
    """The claim that an object is, or the templates of those that it creates."""
    if obj["kind"] == "PersistentVolumeClaim":
        yield obj
    elif obj["kind"] == "StatefulSet":
        yield from (obj.get("spec") or {}).get("volumeClaimTemplates") or ()


def _set(spec: Object, own: ClaimSettings) -> None:
    if own.storage_class:
        spec["storageClassName"] = own.storage_class
    if own.size:
        spec.setdefault("resources", {}).setdefault("requests", {})["storage"] = own.size
