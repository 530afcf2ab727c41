"""Pods of probes: small, restricted, without a ServiceAccount token, at the lowest priority."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, new_object, pod_specs
from kubeflow_volcano.cluster.pods.pull_secrets import refer

RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "0", "memory": "16Mi"},
    "limits": {"cpu": "10m", "memory": "16Mi"},
}
"""Resources of a probe container that only waits. It requests no CPU, so that it fits where all CPU is requested.
Without any request a pod is best-effort and escapes the gang (volcano-sh/volcano#646); a memory request is enough
(pkg/scheduler/api/resource_info.go, IsEmpty). Quotas require a value for every resource, even 0."""

SCRIPT_RESOURCES: Mapping[str, Any] = {
    "requests": RESOURCES["requests"],
    "limits": {"cpu": "500m", "memory": "32Mi"},
}
"""Resources of a container that works: with a limit of 10m CPU, 0.1 s of work would take 10 s."""

RESTRICTED: Mapping[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""The container securityContext that the Pod Security level restricted requires."""

CONTAINER = "probe"
"""Name of a probe pod's only container."""

_NOBODY = 65532
_NO_SIDECAR = {"sidecar.istio.io/inject": "false"}


def probe_pod(
    name: str,
    namespace: str,
    container: Mapping[str, Any],
    *,
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    security: Mapping[str, Any] | None = None,
) -> Object:
    """A pod with one container. Level restricted admits it, unless `security` (the pod's) or `spec` prevent that."""
    return new_object(
        "v1",
        "Pod",
        name,
        namespace,
        meta={"labels": {**(labels or {}), **_NO_SIDECAR}, "annotations": {**(annotations or {}), **_NO_SIDECAR}},
        spec={
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "activeDeadlineSeconds": 300,
            "securityContext": dict(
                security or {"runAsNonRoot": True, "runAsUser": _NOBODY, "seccompProfile": {"type": "RuntimeDefault"}}
            ),
            "containers": [
                {
                    "name": CONTAINER,
                    "imagePullPolicy": "IfNotPresent",
                    "resources": {key: dict(amounts) for key, amounts in RESOURCES.items()},
                    "securityContext": dict(RESTRICTED),
                    **container,
                }
            ],
            **(spec or {}),
        },
    )


def on_node(name: str) -> dict[str, Any]:
    """Spec of a pod that runs on this node, without a scheduler.

    It tolerates all taints, as system DaemonSets do: the kubelet rejects pods that do not tolerate NoExecute.
    """
    return {"nodeName": name, "tolerations": [{"operator": "Exists"}]}


def lowest_priority(cluster: Cluster) -> str:
    """Name of the lowest PriorityClass below 0; empty if there is none, or without permission to read them."""
    try:
        classes = cluster.list("scheduling.k8s.io/v1", "PriorityClass").items
    except ApiError:
        return ""
    below = sorted((item["value"], item["metadata"]["name"]) for item in classes if item["value"] < 0)
    return below[0][1] if below else ""


def with_pull_secret(obj: Object, name: str) -> Object:
    """The object with that pull secret in all its pods, templates included; the same object if it has none."""
    if not any(pod_specs(obj)):
        return obj
    obj = copy.deepcopy(obj)
    for spec in pod_specs(obj):
        refer(spec, name)
    return obj
