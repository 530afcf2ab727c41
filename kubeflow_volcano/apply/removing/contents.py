"""What namespaces contain, by metadata alone, without what Kubernetes itself makes and removes there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.apply.removing.managed import preferred_kinds
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, group_of
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel

_FLEETING = frozenset(
    {
        ("", "Endpoints"),
        ("", "Event"),
        ("coordination.k8s.io", "Lease"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
    }
)
"""Kinds that programs write about others, and that mean nothing without these."""
_IN_EVERY_NAMESPACE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
_TOKEN_OF = "kubernetes.io/service-account.name"  # noqa: S105  an annotation's name


@dataclass(frozen=True, slots=True)
class Contents:
    """Objects by namespace, as metadata; `unread` are plurals that could not be listed, and why."""

    objects: Mapping[str, tuple[Object, ...]]
    unread: Mapping[str, str]


def contents_of(cluster: Cluster, namespaces: Collection[str], deadline: Deadline) -> Contents:
    """What is in these namespaces, 8 requests at a time.

    Left out are objects that others own, which go with their owner, and what is in every namespace. An object whose
    owner is in no namespace, such as a Profile, does not go with one: it is among the answers as long as its owner is.

    Raises:
        ApiError: the API server does not answer which kinds it serves.
    """
    if not namespaces:
        return Contents({}, {})
    served = [*preferred_kinds(cluster)]
    kinds = [kind for kind in served if kind.namespaced and "delete" in kind.verbs and kind.key not in _FLEETING]
    wanted = [(kind, name) for kind in kinds for name in sorted(namespaces)]

    def look(where: tuple[Resource, str]) -> list[Object] | str:
        kind, name = where
        pages = cluster.pages(kind.api_version, kind.kind, namespace=name, brief=True, deadline=deadline)
        try:
            return [item for page in pages for item in page.items]
        except ApiError as error:
            return str(error)

    by_kind: dict[str, list[Object]] = defaultdict(list)
    unread: dict[str, str] = {}
    for (kind, name), answer in zip(wanted, in_parallel(look, wanted), strict=True):
        if isinstance(answer, str):
            unread[kind.title] = answer
        else:
            by_kind[name] += [item for item in answer if not _belongs_to_kubernetes(item)]
    outside = {kind.key for kind in served if not kind.namespaced}
    owners = {item["uid"]: item for items in by_kind.values() for obj in items for item in _owners(obj, outside)}
    living = {uid for uid, owner in owners.items() if _lives(cluster, owner, deadline)}
    stay = {
        name: tuple(
            item
            for item in items
            if not item["metadata"].get("ownerReferences")
            or any(owner["uid"] in living for owner in _owners(item, outside))
        )
        for name, items in by_kind.items()
    }
    return Contents(stay, unread)


def _belongs_to_kubernetes(item: Object) -> bool:
    meta = item["metadata"]
    return (item["kind"], meta["name"]) in _IN_EVERY_NAMESPACE or (
        item["kind"] == "Secret" and _TOKEN_OF in (meta.get("annotations") or {})
    )


def _owners(item: Object, outside: Collection[tuple[str, str]]) -> Iterator[Object]:
    """The owners of kinds `outside` namespaces, but the object's own namespace."""
    meta = item["metadata"]
    for owner in meta.get("ownerReferences") or ():
        its_namespace = (owner["kind"], owner["name"]) == ("Namespace", meta["namespace"])
        if (group_of(owner["apiVersion"]), owner["kind"]) in outside and not its_namespace:
            yield owner


def _lives(cluster: Cluster, owner: Object, deadline: Deadline) -> bool:
    live = cluster.get(Ref(owner["apiVersion"], owner["kind"], "", owner["name"]), deadline=deadline)
    return live is not None and live["metadata"]["uid"] == owner["uid"]
