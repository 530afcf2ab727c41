"""Unmaintained tools that installed Kubeflow or scheduled gangs once, and how their objects are recognised.

Sources: kubernetes-retired/kube-batch (CRDs and Deployment of its chart), kubeflow/kfctl (CRD, annotation and finalizer
of its operator), ksonnet (labels and annotations of its pkg/metadata). The label app.kubernetes.io/managed-by: kfctl is
no mark: manifests of Kubeflow 1.9 still carry it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName

KUBE_BATCH = "kube-batch"
"""The scheduler that Volcano came from; also the schedulerName of its pods."""
KFCTL = "kfctl"
KSONNET = "ksonnet"

KUBE_BATCH_GROUPS = frozenset({"scheduling.incubator.k8s.io", "scheduling.sigs.dev"})
"""API groups of its PodGroups and Queues."""
KFDEF_CRD = "kfdefs.kfdef.apps.kubeflow.org"

_PROGRAMS = {KUBE_BATCH: "kube-batch", KFCTL: "kubeflow-operator"}
_LABELS: Mapping[str, Mapping[str, str]] = {
    KSONNET: {"app.kubernetes.io/deploy-manager": "ksonnet", "ksonnet.io/component": ""},
}
"""With the value that marks the object; empty: any."""
_ANNOTATIONS: Mapping[str, tuple[str, ...]] = {
    KFCTL: ("kfctl.kubeflow.io/kfdef-instance",),
    KSONNET: ("ksonnet.io/managed", "kubecfg.ksonnet.io/garbage-collect-tag"),
}


def marks(tool: str, metadata: Mapping[str, Any]) -> list[str]:
    """What the tool wrote into the metadata of an object, as `key` or `key=value`; empty if it is none of its own."""
    labels, annotations = (metadata.get(field) or {} for field in ("labels", "annotations"))
    wanted = _LABELS.get(tool, {})
    keys = [key for key in wanted if key in labels and not wanted[key]]
    keys += [key for key in _ANNOTATIONS.get(tool, ()) if key in annotations]
    return keys + [f"{key}={value}" for key, value in wanted.items() if value and labels.get(key) == value]


def runs(tool: str, workload: Mapping[str, Any]) -> bool:
    """Whether a container of this Deployment or StatefulSet has the program of the tool as its image."""
    containers = workload["spec"]["template"]["spec"]["containers"]
    return any(_program(item["image"]) == _PROGRAMS.get(tool) for item in containers)


def _program(image: str) -> str:
    """Last path element of the image, without tag and digest."""
    name = ImageName.parse(image)
    return name.path.rpartition("/")[2] if name else ""
