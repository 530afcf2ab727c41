"""What keeps namespaces that are being deleted from being gone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from validators.core.facts import Facts

__all__ = ["kinds_left", "remaining"]

_MOST = 10
# "foos.example.com has 2 resource instances"; a kind of the core group ends in a dot
# (kubernetes, pkg/controller/namespace/deletion/status_condition_utils.go).
_LEFT = re.compile(r"([a-z0-9-]+)\.([a-z0-9.-]*) has \d+ resource instances")


def remaining(cluster: Cluster, facts: Facts) -> Mapping[str, tuple[str, ...]]:
    """By namespace, the first objects that are left in it, with their finalizers, as far as they may be listed."""
    going = [item for item in facts.all("namespaces") if "deletionTimestamp" in item["metadata"]]
    return {item["metadata"]["name"]: tuple(_objects(cluster, item))[:_MOST] for item in going}


def kinds_left(namespace: Object) -> tuple[tuple[str, str], ...]:
    """Plural and group of what the namespace controller still finds in it."""
    message = conditions(namespace).get("NamespaceContentRemaining", {}).get("message", "")
    return tuple((match[1], match[2]) for match in _LEFT.finditer(message))


def _objects(cluster: Cluster, namespace: Object) -> Iterator[str]:
    name = namespace["metadata"]["name"]
    for plural, group in kinds_left(namespace):
        with contextlib.suppress(ApiError):  # it only enriches a message
            version = cluster.request("GET", f"/apis/{group}")["preferredVersion"]["groupVersion"] if group else "v1"
            kinds = {found.plural: kind for kind, found in cluster.kinds(version).items()}
            for item in cluster.list(version, kinds.get(plural, plural), namespace=name, brief=True).items:
                held_by = item["metadata"].get("finalizers") or ()
                yield f"{Ref.of(item)}" + (f" (finalizers {', '.join(held_by)})" if held_by else "")
