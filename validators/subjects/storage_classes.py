"""StorageClasses: the default one, and the workloads of a provisioner."""

from __future__ import annotations

import json

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import DAEMON_SETS, DEPLOYMENTS, STATEFUL_SETS, STORAGE_CLASSES
from kubeflow_volcano.validators.subjects.issues import judged

LOCAL_PATH = "rancher.io/local-path"
STATIC = "kubernetes.io/no-provisioner"
"""Provisioner of classes with static volumes."""

# A pod template names its provisioner; local-path's name is compiled in, so its image identifies it.
_IMAGES = {LOCAL_PATH: "local-path-provisioner"}
_WORKLOADS = (DEPLOYMENTS, DAEMON_SETS, STATEFUL_SETS)
_NEWEST_WINS = (1, 26)
"""Kubernetes version from which on several defaults do not keep claims out (kubernetes/kubernetes#110559)."""
MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def is_default(storage_class: Object) -> bool:
    """Whether the class is marked as default, by the current or the beta annotation."""
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in MARKS)


def default_classes(facts: Facts) -> tuple[str, ...]:
    """Names of the default classes; the one that Kubernetes 1.26 and later uses comes first.

    It is the newest, ties by name (pkg/volume/util/storageclass.go).

    Raises:
        CannotJudgeError: the classes could not be read.
    """
    marked = [item["metadata"] for item in facts.all(STORAGE_CLASSES) if is_default(item)]
    by_name = sorted(marked, key=lambda meta: meta["name"])
    return tuple(meta["name"] for meta in sorted(by_name, key=lambda meta: meta["creationTimestamp"], reverse=True))


def effective_class(facts: Facts) -> str:
    """The class that a claim without a class gets; empty where it gets none.

    Of several defaults the newest is taken from Kubernetes 1.26 on; servers before it refuse such claims.

    Raises:
        CannotJudgeError: the classes could not be read.
    """
    defaults = default_classes(facts)
    refused = bool(facts.server_version) and version_key(facts.server_version)[:2] < _NEWEST_WINS
    return defaults[0] if defaults and not (refused and len(defaults) > 1) else ""


def serving_workloads(facts: Facts, provisioner: str) -> tuple[Ref, ...]:
    """Workloads that the catalog expects for this provisioner, else those whose pod template names it."""
    expected = tuple(ref for ref, name in facts.expectations.workloads.items() if name == "local-path")
    if provisioner == LOCAL_PATH and expected:
        return expected
    return tuple(
        Ref.of(item)
        for resource in _WORKLOADS
        if resource in facts.objects
        for item in judged(facts, resource)
        if _IMAGES.get(provisioner, provisioner) in json.dumps(item["spec"]["template"])
    )


def without_replicas(facts: Facts, provisioner: str) -> Ref | None:
    """A workload of the provisioner without an available pod; None if all known ones have one."""
    serving = serving_workloads(facts, provisioner)
    for item in (item for resource in _WORKLOADS for item in facts.objects.get(resource, ())):
        status = item.get("status", {})
        if Ref.of(item) in serving and not (status.get("availableReplicas") or status.get("numberAvailable")):
            return Ref.of(item)
    return None
