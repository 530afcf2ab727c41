"""Whether a Node is ready, and its kubelet has said so since a moment."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from time import sleep

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline

__all__ = ["has_cluster", "moving", "unready", "wait_until_ready"]

_LEASES = "kube-node-lease"
_LOOK_SECONDS = 2.0
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def has_cluster(kubeconfig: Path | None) -> bool:
    """Whether anything says where a cluster is; without that there is none to ask."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    files = [Path(name) for name in named if name] or [Path("~/.kube/config").expanduser()]
    return kubeconfig is not None or _SERVICE_ACCOUNT.exists() or any(file.exists() for file in files)


def unready(cluster: Cluster, name: str, since: float | None = None) -> str | None:
    """Why the Node is not ready, "" where it is, None where there is no Node of that name.

    With `since`, in seconds since the epoch by the node's clock, the kubelet must have renewed its Lease after that: it
    keeps the condition Ready up to 50 s after it has stopped to look.

    Raises:
        ApiError: the server does not answer, or not this.
    """
    node = cluster.get(Ref("v1", "Node", "", name))
    if node is None:
        return None
    if trouble := _condition(node):
        return trouble
    if since is None:
        return ""
    lease = cluster.get(Ref("coordination.k8s.io/v1", "Lease", _LEASES, name))
    renewed = (lease or {}).get("spec", {}).get("renewTime", "")
    if not renewed:
        return f"it has no Lease in {_LEASES}"
    behind = since - datetime.fromisoformat(renewed).timestamp()
    return f"its kubelet has not renewed its Lease since, for {behind:.0f} s" if behind > 0 else ""


def moving(cluster: Cluster, name: str) -> tuple[str, ...]:
    """Pods of the Node that are being made or removed: a restart of containerd ends their pulls and may keep them so.

    See containerd#12600 for those that stay in their removal.

    Raises:
        ApiError: the server does not answer, or not this.
    """
    pods = cluster.list("v1", "Pod", fields=f"spec.nodeName={name}").items
    return tuple(
        sorted(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods if _on_its_way(pod))
    )


def _on_its_way(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") == "Pending"


def wait_until_ready(cluster: Cluster, name: str, since: float, seconds: float) -> str:
    """Wait that long at most; why the Node is not ready then, or "" as soon as it is."""
    deadline = Deadline(seconds)
    while True:
        try:
            trouble = unready(cluster, name, since)
        except ApiError as error:  # the control plane's own containerd may be the one that restarts
            trouble = f"the API server answers: {error}"
        if trouble == "":
            return ""
        if deadline.passed:
            return trouble or "there is no Node of that name any more"
        sleep(min(_LOOK_SECONDS, deadline.remaining))


def _condition(node: Object) -> str:
    found = [item for item in node.get("status", {}).get("conditions", []) if item.get("type") == "Ready"]
    if not found:
        return "it has no condition Ready"
    status, message = found[0].get("status"), found[0].get("message") or found[0].get("reason", "")
    return "" if status == "True" else f"its condition Ready is {status} ({message})"
