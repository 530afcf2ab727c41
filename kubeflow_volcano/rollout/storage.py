"""Which StorageClass is the default: exactly one, and never by taking the annotation from another silently."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.patches import DEFAULT_CLASS

__all__ = ["default_classes", "require_one_default"]

_BETA = "storageclass.beta.kubernetes.io/is-default-class"


def default_classes(cluster: Cluster) -> tuple[str, ...]:
    """Names of the StorageClasses that say they are the default."""
    found = cluster.list("storage.k8s.io/v1", "StorageClass").items
    return tuple(sorted(item["metadata"]["name"] for item in found if _is_default(item)))


def require_one_default(cluster: Cluster, objects: Iterable[Object]) -> None:
    """See that there will be exactly one default class: the one among `objects`, or without one, the cluster's own.

    Raises:
        InvalidInput: there would be none, or more than one.
    """
    found = default_classes(cluster)
    own = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "StorageClass"}
    others = [name for name in found if name not in own]
    if own and others:
        raise InvalidInput(
            Problem(
                f"the default StorageClass {', '.join(others)} besides {', '.join(own)}, which would become one too.",
                "exactly one default StorageClass, or claims without a class go to the newest of them.",
                "set local_path_storage_mode: existing to use the other one, or take its annotation away: "
                f"kubectl annotate storageclass {' '.join(others)} {DEFAULT_CLASS}-",
            )
        )
    if not own and len(found) != 1:
        raise InvalidInput(
            Problem(
                f"{len(found)} default StorageClasses{': ' if found else ''}{', '.join(found)}.",
                "exactly one, as local_path_storage_mode is existing.",
                f'annotate the one to use with {DEFAULT_CLASS}: "true", or set local_path_storage_mode: local_path.',
            )
        )


def _is_default(item: Object) -> bool:
    annotations = item["metadata"].get("annotations") or {}
    return "true" in {annotations.get(DEFAULT_CLASS), annotations.get(_BETA)}
