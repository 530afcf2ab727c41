"""Which StorageClass is the default: exactly one, and never by taking the annotation from another silently."""

from __future__ import annotations

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.patches import DEFAULT_CLASS

__all__ = ["default_classes", "require_default_class", "require_no_other_default"]

_BETA = "storageclass.beta.kubernetes.io/is-default-class"


def default_classes(cluster: Cluster) -> tuple[str, ...]:
    """Names of the StorageClasses that say they are the default."""
    found = cluster.list("storage.k8s.io/v1", "StorageClass").items
    return tuple(sorted(item["metadata"]["name"] for item in found if _is_default(item)))


def require_no_other_default(cluster: Cluster, own: str) -> None:
    """See that `own` will be the only default class.

    Raises:
        InvalidInput: another class is a default already.
    """
    others = [name for name in default_classes(cluster) if name != own]
    if others:
        raise InvalidInput(
            Problem(
                f"the default StorageClass {', '.join(others)} besides {own}, which local_path_storage_mode makes one.",
                "exactly one default StorageClass, or claims without a class go to the newest of them.",
                "set local_path_storage_mode: existing to use the other one, or take its annotation away: "
                f"kubectl annotate storageclass {' '.join(others)} {DEFAULT_CLASS}-",
            )
        )


def require_default_class(cluster: Cluster) -> str:
    """Name of the one default class that the cluster brings along.

    Raises:
        InvalidInput: there is none, or more than one.
    """
    found = default_classes(cluster)
    if len(found) != 1:
        raise InvalidInput(
            Problem(
                f"{len(found)} default StorageClasses{': ' if found else ''}{', '.join(found)}.",
                "exactly one, as local_path_storage_mode is existing.",
                f'annotate the one to use with {DEFAULT_CLASS}: "true", or set local_path_storage_mode: local_path.',
            )
        )
    return found[0]


def _is_default(item: Object) -> bool:
    annotations = item["metadata"].get("annotations") or {}
    return "true" in {annotations.get(DEFAULT_CLASS), annotations.get(_BETA)}
