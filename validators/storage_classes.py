"""Which StorageClass is the default one."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object
from validators.facts import Facts

__all__ = ["default_classes", "is_default"]

_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def is_default(storage_class: Object) -> bool:
    """Whether the class is marked as default, by the annotation of today or the beta one."""
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in _MARKS)


def default_classes(facts: Facts) -> tuple[str, ...]:
    """Names of the classes marked as default; the one that wins on a server from 1.26 on comes first.

    It is the newest, ties by name (pkg/volume/util/storageclass.go).

    Raises:
        CannotJudgeError: the classes could not be read.
    """
    marked = [item["metadata"] for item in facts.all("storageclasses.storage.k8s.io") if is_default(item)]
    by_name = sorted(marked, key=lambda meta: meta["name"])
    return tuple(meta["name"] for meta in sorted(by_name, key=lambda meta: meta["creationTimestamp"], reverse=True))
