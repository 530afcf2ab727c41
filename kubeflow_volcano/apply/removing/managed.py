"""All live objects that this project applied, found by their metadata alone, and the deletion of one of ours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel

T = TypeVar("T")

_PAGE = 500
_CONTROLLERS = "kube-controller-manager"
"""It adds the tokens of ServiceAccounts (until Kubernetes 1.23) and the conditions of namespaces."""
_NEVER_APPLIED = frozenset(
    {
        ("", "Endpoints"),
        ("", "Event"),
        ("", "Node"),
        ("", "Pod"),
        ("", "PodTemplate"),
        ("", "ReplicationController"),
        ("apps", "ControllerRevision"),
        ("apps", "ReplicaSet"),
        ("coordination.k8s.io", "Lease"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""Kinds that controllers write, some of them by the thousand, and no manifest of a release declares."""

_COSTLY = frozenset({("apiextensions.k8s.io", "CustomResourceDefinition")})
"""Kinds whose metadata is taken from the server's cache.

For the metadata of a CRD from etcd the server decodes all its schemas: 13 took 91 ms, and 2 ms from the cache. Its lag
of a moment does no harm: nothing is removed but by its UID, and what has just been applied is declared.
"""


@dataclass(frozen=True, slots=True)
class Managed:
    """Metadata of the objects that this project applied; `unread` are plurals that could not be listed, and why."""

    objects: Mapping[Ref, Object]
    unread: Mapping[str, str]


def managed_objects(
    cluster: Cluster,
    deadline: Deadline,
    *,
    kinds: Collection[tuple[str, str]] | None = None,
    uids: Collection[str] = (),
) -> Managed:
    """List every kind that the server serves, or only `kinds` (group and kind), 8 requests at a time.

    A kind served in several versions is listed once, in the version that the server prefers. Of an object that was
    applied without any field, such as a plain ServiceAccount, the API server records no manager: those with one of
    these `uids` that have no other manager are among the answers, too.

    Raises:
        ApiError: the API server does not answer which kinds it serves.
    """
    wanted = [
        resource
        for resource in preferred_kinds(cluster)
        if "patch" in resource.verbs and resource.key not in _NEVER_APPLIED and (kinds is None or resource.key in kinds)
    ]

    return Managed(*read_each(wanted, lambda kind: dict(_owned(cluster, kind, uids, deadline))))


def read_each(
    kinds: Sequence[Resource], read: Callable[[Resource], Mapping[Ref, T]]
) -> tuple[dict[Ref, T], dict[str, str]]:
    """What `read` finds of all these kinds, 8 at a time; and the plurals that could not be listed, and why."""

    def look(kind: Resource) -> Mapping[Ref, T] | str:
        try:
            return read(kind)
        except ApiError as error:
            return {} if error.status == HTTPStatus.NOT_FOUND else str(error)

    found: dict[Ref, T] = {}
    unread: dict[str, str] = {}
    for kind, answer in zip(kinds, in_parallel(look, kinds), strict=True):
        if isinstance(answer, str):
            unread[kind.title] = answer
        else:
            found |= answer
    return found, unread


def preferred_kinds(cluster: Cluster) -> Iterator[Resource]:
    """The kinds that can be listed, each once, in the preferred version of its group.

    Raises:
        ApiError: the API server does not answer which kinds it serves.
    """
    served = cluster.all_kinds()
    if served is None:
        groups = cluster.request("GET", "/apis")["groups"]
        order = [version["groupVersion"] for group in groups for version in group["versions"]]
        served = dict(zip(order, in_parallel(cluster.kinds, order), strict=True))
    seen: set[tuple[str, str]] = set()
    for kinds in ({"v1": cluster.kinds("v1")} | dict(served)).values():
        for resource in kinds.values():
            if "list" in resource.verbs and resource.key not in seen:
                seen.add(resource.key)
                yield resource


def own_crds(cluster: Cluster) -> set[str]:
    """The names of the CRDs that this project applied; raises ApiError where they cannot be listed."""
    crds = cluster.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", brief=True).items
    return {item["metadata"]["name"] for item in crds if own_entry(item) is not None}


def _owned(
    cluster: Cluster, resource: Resource, uids: Collection[str], deadline: Deadline
) -> Iterator[tuple[Ref, Object]]:
    pages = cluster.pages(
        resource.api_version,
        resource.kind,
        size=_PAGE,
        brief=True,
        cached=resource.key in _COSTLY,
        deadline=deadline,
    )
    for page in pages:
        for item in page.items:
            if own_entry(item) is not None or (item["metadata"]["uid"] in uids and _unmanaged(item)):
                item["metadata"].pop("managedFields", None)
                yield Ref.of(item), item


def _unmanaged(item: Object) -> bool:
    return all(entry["manager"] == _CONTROLLERS for entry in item["metadata"].get("managedFields") or ())


def delete_owned(cluster: Cluster, live: Object, *, check: bool) -> ObjectOutcome | None:
    """Delete a live object by its UID, or in check mode only report it.

    Returns:
        The outcome; None if this project did not apply the object, or it does not exist any more.

    Raises:
        ApiError: it may not be deleted.
    """
    if own_entry(live) is None:
        return None
    ref = Ref.of(live)
    if check or cluster.delete(ref, uid=live["metadata"]["uid"]):
        return ObjectOutcome(ref, Action.REMOVED, live, None)
    return None
