"""Exactly one default StorageClass; the annotation of another one is never removed silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.storage.local_path import DEFAULT_CLASS
from kubeflow_volcano.rollout.storage.static_volumes import StaticVolume, validate_static_volumes

_BETA = "storageclass.beta.kubernetes.io/is-default-class"


def default_classes(cluster: Cluster) -> tuple[str, ...]:
    """Names of the StorageClasses with the annotation of a default class."""
    classes = cluster.list("storage.k8s.io/v1", "StorageClass").items
    return tuple(sorted(item["metadata"]["name"] for item in classes if _is_default(item)))


def require_usable(cluster: Cluster, volumes: Sequence[StaticVolume], objects: Iterable[Object]) -> None:
    """Require exactly one default class after the roll-out: the one among `objects`, else the cluster's own.

    Raises:
        InvalidInput: there would be none, or more than one; or static volumes could not be used.
        ApiError: the API server refused a question.
    """
    problems = [*_defaults(cluster, objects), *validate_static_volumes(cluster, volumes)]
    if problems:
        raise InvalidInput(problems)


def _defaults(cluster: Cluster, objects: Iterable[Object]) -> Iterator[Problem]:
    defaults = default_classes(cluster)
    own = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "StorageClass"}
    others = [name for name in defaults if name not in own]
    if own and others:
        yield Problem(
            f"the default StorageClass {', '.join(others)} besides {', '.join(own)}, which would become one, too.",
            "exactly one default StorageClass; claims without a class get the newest of several.",
            "set local_path_storage_mode: existing to use the other one, or remove its annotation: "
            f"kubectl annotate storageclass {' '.join(others)} {DEFAULT_CLASS}-",
        )
    if not own and len(defaults) != 1:
        yield Problem(
            f"{len(defaults)} default StorageClasses{': ' if defaults else ''}{', '.join(defaults)}.",
            "exactly one, because the inventory leaves storage to the cluster.",
            f"annotate the one to use (kubectl annotate storageclass NAME {DEFAULT_CLASS}=true), or set "
            "local_path_storage_mode: local_path without local-path in kubeflow_existing.",
        )


def _is_default(item: Object) -> bool:
    annotations = item["metadata"].get("annotations") or {}
    return "true" in {annotations.get(DEFAULT_CLASS), annotations.get(_BETA)}
