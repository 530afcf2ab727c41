"""Whether a Node is ready, before and after its container runtime restarts."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput, ProblemsError

_LEASES = "kube-node-lease"
_LOOK_SECONDS = 2.0
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def before_restart(kubeconfig: Path | None, context: str | None, node: str) -> tuple[str, ...]:
    """Require that the Node is ready before its containerd restarts; returns notes for a person.

    Raises:
        InvalidInput: it is not ready, or the API server does not answer.
    """
    if not has_cluster(kubeconfig):
        return ("no kubeconfig names a cluster, so it is not checked whether the Node is ready.",)
    pods: tuple[str, ...] = ()
    try:
        cluster = Cluster.connect(kubeconfig, context)
        if (trouble := unready(cluster, node)) == "":
            pods = transient_pods(cluster, node)
    except ApiError as error:
        trouble = f"the API server answers: {error}"
    if trouble is None:
        return (f"the cluster has no Node {node}, so none is checked (set kubeflow_node_name if it has another name).",)
    if trouble:
        raise InvalidInput.problem(
            f"the Node {node} is not ready: {trouble}.",
            "a ready Node, so that a failure after the restart of containerd has only one possible cause.",
            f"see kubectl describe node {node}, correct the cause, and run this again.",
        )
    return (f"the restart affects pods that are starting or terminating: {', '.join(pods)}.",) if pods else ()


def after_restart(kubeconfig: Path | None, context: str | None, node: str, since: float, seconds: float) -> str:
    """Why the Node does not become ready, with a Lease renewed after `since`; "" where it does or none is known."""
    if not has_cluster(kubeconfig):
        return ""
    try:
        cluster = Cluster.connect(kubeconfig, context)
        return "" if unready(cluster, node) is None else wait_until_ready(cluster, node, since, seconds)
    except (ApiError, ProblemsError) as error:
        return str(error)


def has_cluster(kubeconfig: Path | None) -> bool:
    """Whether a kubeconfig or a ServiceAccount names a cluster."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    files = [Path(name) for name in named if name] or [Path("~/.kube/config").expanduser()]
    return kubeconfig is not None or _SERVICE_ACCOUNT.exists() or any(file.exists() for file in files)


def unready(cluster: Cluster, name: str, since: float | None = None) -> str | None:
    """Why the Node is not ready, "" where it is, None where there is no Node of that name.

    With `since`, in seconds since the epoch by the node's clock, the kubelet must have renewed its Lease after that:
    the condition Ready stays up to 50 s after the kubelet stopped reporting.

    Raises:
        ApiError: the API server does not answer, or refuses.
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
    return f"its kubelet has not renewed its Lease for {behind:.0f} s" if behind > 0 else ""


def transient_pods(cluster: Cluster, name: str) -> tuple[str, ...]:
    """Pods of the Node that are starting or terminating: a restart of containerd cancels their pulls.

    Terminating pods may stay so (containerd#12600).

    Raises:
        ApiError: the API server does not answer, or refuses.
    """
    pods = cluster.list("v1", "Pod", fields=f"spec.nodeName={name}").items
    return tuple(
        sorted(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods if _is_transient(pod))
    )


def _is_transient(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") == "Pending"


def wait_until_ready(cluster: Cluster, name: str, since: float, seconds: float) -> str:
    """Wait up to `seconds`; returns "" as soon as the Node is ready, else why it is not."""
    trouble: str | None = None
    for _ in Deadline(seconds).every(_LOOK_SECONDS):
        try:
            trouble = unready(cluster, name, since)
        except ApiError as error:  # the control plane's own containerd may be the one that restarts
            trouble = f"the API server answers: {error}"
        if trouble == "":
            return ""
    return trouble or "there is no Node of that name any more"


def _condition(node: Object) -> str:
    ready = conditions(node).get("Ready")
    if not ready:
        return "it has no condition Ready"
    status, message = ready.get("status"), ready.get("message") or ready.get("reason", "")
    return "" if status == "True" else f"its condition Ready is {status} ({message})"
