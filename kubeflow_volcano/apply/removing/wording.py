"""What a removal says of objects that stay."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.stored_versions import lost_version, way_back
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import counted, few


def kubectl(ref: Ref) -> str:
    """Arguments that name the object to kubectl, with its kind in lower case."""
    return ref.for_kubectl(ref.full_kind.lower())


def in_use(crd: Ref, others: Iterable[Ref]) -> Problem:
    """A CRD with objects that the removal leaves."""
    names = sorted(others)
    return Problem(
        f"{crd} stays, with {counted(len(names), 'object')} of its kind that this removal leaves: "
        f"{few(list(map(str, names)), 3)}.",
        "a CRD without objects; they would be deleted with it.",
        f"save those that you need (kubectl get {crd.name} -A -o yaml), delete them (kubectl delete "
        f"{kubectl(names[0])}), and run again.",
    )


def unread(crd: Ref, why: str) -> Problem:
    """A CRD whose objects cannot be listed."""
    version = lost_version(why)
    todo = f"{' && '.join(way_back(crd.name, version))}, and run again." if version else ""
    return Problem(
        f"{crd} stays: its objects cannot be listed: {why}.",
        "an answer to whether objects of its kind are left; they would be deleted with it.",
        todo or f"remove the cause until kubectl get {crd.name} -A answers, and run again.",
    )


def refused(ref: Ref, why: str) -> Problem:
    """An object that the API server does not delete."""
    return Problem(
        f"{ref} could not be deleted: {why}.",
        "an API server that deletes it.",
        f"remove the cause that the message names; kubectl delete {kubectl(ref)} shows it again. Then run again.",
    )
