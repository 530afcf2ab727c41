"""What lives in objects that hold others: nothing is removed in which something else stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.apply.removing.contents import Contents, contents_of
from kubeflow_volcano.apply.removing.wording import kubectl
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rollout.queues.view import QueueView
from kubeflow_volcano.rollout.stale.derived import is_derived
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.text import counted, few

_SPACES = frozenset({"Namespace", "Profile"})
"""Kinds that go with everything in the namespace of their name."""
_MOST_SHOWN = 4


@dataclass(frozen=True, slots=True)
class InUse:
    """Why an object stays: what is in it, or uses it; and what would free it."""

    why: str
    todo: str


def others_in(namespace: str, contents: Contents, going: Collection[Stale]) -> list[Ref]:
    """What is in a namespace beside the objects that go, what they own, and what programs of components made."""
    leaving = {Place.of(item.ref) for item in going}
    uids = {item.live["metadata"]["uid"] for item in going}
    return sorted(
        Ref.of(item)
        for item in contents.objects.get(namespace, ())
        if Place.of(Ref.of(item)) not in leaving
        and not is_derived(item)
        and not any(owner["uid"] in uids for owner in item["metadata"].get("ownerReferences") or ())
    )


def space_in_use(others: Sequence[Ref], contents: Contents) -> InUse | None:
    """Why a namespace with these `others` stays, or one of which not all could be listed; None for an empty one."""
    if others:
        names = [f"{other.kind} {other.name}" for other in others]
        return _in_use(names, f"move or delete them, such as with kubectl delete {kubectl(others[0])}")
    for plural, text in contents.unread.items():
        return InUse(f"{plural} in it cannot be listed: {text}", "mend that")
    return None


def find_in_use(
    cluster: Cluster, going: Collection[Stale], declared: Collection[Object], deadline: Deadline
) -> Mapping[Ref, InUse]:
    """Those of `going` in which something stays when all of them are gone, or that something uses which stays.

    Namespaces and Profiles hold what is in the namespace; queues hold jobs and queues; claims are used by pods and by
    `declared` workloads, volumes by claims. CRDs are judged when they are removed (`Removal`).

    Raises:
        ApiError: the API server does not answer.
    """
    in_use: dict[Ref, InUse] = {}
    spaces = [item.ref for item in going if item.ref.kind in _SPACES]
    contents = contents_of(cluster, {ref.name for ref in spaces}, deadline)
    for ref in spaces:
        if found := space_in_use(others_in(ref.name, contents, going), contents):
            in_use[ref] = found
    leaving = {item.ref for item in going}
    queues = [ref for ref in leaving if ref.kind == "Queue"]
    view = QueueView.read(cluster) if queues else QueueView()
    for ref in queues:
        children = [ref._replace(name=name) for name in view.children(ref.name)]
        if users := [*view.jobs(ref.name), *(str(child) for child in children if child not in leaving)]:
            in_use[ref] = _in_use(users, "wait for them, or delete them")
    for ref in (ref for ref in leaving if ref.kind == "PersistentVolumeClaim"):
        if users := [*_users(cluster, ref, declared)]:
            in_use[ref] = _in_use(users, "delete what uses it", verb="is used by")
    for ref in (ref for ref in leaving if ref.kind == "PersistentVolume"):
        claim = _claim_of(cluster.get(ref) or {})
        if claim and claim not in leaving and cluster.get(claim):
            in_use[ref] = _in_use([str(claim)], f"delete it: kubectl delete {kubectl(claim)}", verb="is used by")
    return in_use


def _in_use(names: Collection[str], todo: str, verb: str = "still has") -> InUse:
    return InUse(f"it {verb} {counted(len(names), 'object')}: {few([*names], _MOST_SHOWN)}", todo)


def _users(cluster: Cluster, claim: Ref, declared: Iterable[Object]) -> Iterator[str]:
    """Pods that have not ended, and declared workloads, with the claim among their volumes."""
    for pod in cluster.list("v1", "Pod", namespace=claim.namespace).items:
        if not has_ended(pod) and _mounts(pod["spec"], claim):
            yield str(Ref.of(pod))
    for obj in declared:
        template = (obj.get("spec") or {}).get("template") or {}
        if obj["metadata"].get("namespace") == claim.namespace and _mounts(template.get("spec") or {}, claim):
            yield str(Ref.of(obj))


def _mounts(spec: Mapping[str, Any], claim: Ref) -> bool:
    claims = (volume.get("persistentVolumeClaim") or {} for volume in spec.get("volumes") or ())
    return any(item.get("claimName") == claim.name for item in claims)


def _claim_of(volume: Object) -> Ref | None:
    claim = (volume.get("spec") or {}).get("claimRef")
    return Ref("v1", "PersistentVolumeClaim", claim["namespace"], claim["name"]) if claim else None
