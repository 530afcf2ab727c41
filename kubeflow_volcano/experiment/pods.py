"""Pods for probes: small, restricted, without a token, never in anybody's way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object

__all__ = ["CONTAINER", "RESOURCES", "RESTRICTED", "SCRIPT_RESOURCES", "lowest_priority", "on_node", "probe_pod"]

RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "0", "memory": "16Mi"},
    "limits": {"cpu": "10m", "memory": "16Mi"},
}
"""Of a probe container that only waits. It asks for no CPU, so that it fits where all CPU is asked for. Without any
request a pod is best-effort and escapes the gang (volcano-sh/volcano#646); memory alone is enough
(pkg/scheduler/api/resource_info.go, IsEmpty). Quotas want every resource to be said, be it 0."""

SCRIPT_RESOURCES: Mapping[str, Any] = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"cpu": "500m", "memory": "32Mi"},
}
"""For a container that has work to do: 10m CPU as a limit would stretch 0.1 s of work to 10 s."""

RESTRICTED: Mapping[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""Container security context that the restricted Pod Security level asks for."""

CONTAINER = "probe"
"""Name of the one container of a probe pod."""

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
    """A pod of one container that the restricted level admits, unless `security` (of the pod) or `spec` widen it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**(labels or {}), **_NO_SIDECAR},
            "annotations": {**(annotations or {}), **_NO_SIDECAR},
        },
        "spec": {
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
    }


def on_node(name: str) -> dict[str, Any]:
    """Spec of a pod that is of use on this one node only, whatever a scheduler thinks of it.

    It tolerates all taints, as DaemonSets of the system do: the kubelet refuses what does not tolerate NoExecute.
    """
    return {"nodeName": name, "tolerations": [{"operator": "Exists"}]}


def lowest_priority(cluster: Cluster) -> str:
    """Name of the lowest existing PriorityClass below 0; empty when there is none, or they may not be read."""
    try:
        classes = cluster.list("scheduling.k8s.io/v1", "PriorityClass").items
    except ApiError:
        return ""
    below = sorted((item["value"], item["metadata"]["name"]) for item in classes if item["value"] < 0)
    return below[0][1] if below else ""
