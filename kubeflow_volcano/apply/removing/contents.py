"""What namespaces contain, by metadata alone, without what Kubernetes itself makes and removes there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubeflow_volcano.apply.removing.managed import preferred_kinds
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel

__all__ = ["Contents", "contents_of"]

_PARALLEL = 8
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

    Left out are objects that others own, which go with their owner, and what is in every namespace.

    Raises:
        ApiError: the API server does not answer which kinds it serves.
    """
    if not namespaces:
        return Contents({}, {})
    kinds = [
        kind
        for kind in preferred_kinds(cluster)
        if kind.namespaced and "delete" in kind.verbs and kind.key not in _FLEETING
    ]
    wanted = [(kind, name) for kind in kinds for name in sorted(namespaces)]

    def look(where: tuple[Resource, str]) -> list[Object] | str:
        kind, name = where
        pages = cluster.pages(kind.api_version, kind.kind, namespace=name, brief=True, deadline=deadline)
        try:
            return [item for page in pages for item in page.items]
        except ApiError as error:
            return str(error)

    found: dict[str, list[Object]] = defaultdict(list)
    unread: dict[str, str] = {}
    for (kind, name), answer in zip(wanted, in_parallel(look, wanted, _PARALLEL), strict=True):
        if isinstance(answer, str):
            unread[kind.title] = answer
        else:
            found[name] += [item for item in answer if not _belongs_to_kubernetes(item)]
    return Contents({name: tuple(items) for name, items in found.items()}, unread)


def _belongs_to_kubernetes(item: Object) -> bool:
    meta = item["metadata"]
    return (
        bool(meta.get("ownerReferences"))
        or (item["kind"], meta["name"]) in _IN_EVERY_NAMESPACE
        or (item["kind"] == "Secret" and _TOKEN_OF in (meta.get("annotations") or {}))
    )
