"""Class and size of claims: PersistentVolumeClaims of a component, and those that its StatefulSets create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.pods.claims import ClaimSettings
from kubeflow_volcano.text import did_you_mean


def set_claims(objects: Iterable[Object], component: str, claims: Mapping[str, Mapping[str, ClaimSettings]]) -> None:
    """Give the claims of a component the classes and sizes that the inventory has for them.

    Raises:
        InvalidInput: every name that fits no claim of the component.
    """
    wanted = claims.get(component) or {}
    present = [claim for obj in objects for claim in claims_in(obj)]
    names = sorted({claim["metadata"]["name"] for claim in present})
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
    for claim in present:
        if own := wanted.get(claim["metadata"]["name"]):
            _set(claim["spec"], own)


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
