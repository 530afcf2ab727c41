"""What a running API server needs before the cluster is one: addons, the simulated nodes, and the waits for both."""

from __future__ import annotations

import base64
import importlib.resources
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.watching import Observer, Subject
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.network import POD_RANGE
from kubeflow_volcano.rehearsal.placement import GPU, NODE_LABEL, SIMULATED_LABEL, TOLERATION
from kubeflow_volcano.rehearsal.spec import RehearsalSpec

__all__ = [
    "MANAGER",
    "SELECTOR",
    "apply_addons",
    "assign_pod_range",
    "exists",
    "nodes_ready",
    "pods_ready",
    "sync_gpu_nodes",
    "wait_for",
    "wait_for_placement",
]

MANAGER = "kubeflow-volcano-rehearsal"
_NODES = Subject("v1", "Node")
_ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
SELECTOR = f"type=kwok,{SIMULATED_LABEL}=true"
"""Selects the nodes that this module made."""
_CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi", "pods": "110"}
_RETRY_SECONDS = 0.1


def apply_addons(cluster: Cluster, authority: Path) -> tuple[str, ...]:
    """Apply the cluster's own objects; returns those that were not as they should be.

    `authority` is the certificate that signed the placement webhook's.
    """
    resources = importlib.resources.files("kubeflow_volcano.rehearsal") / "addons"
    bundle = base64.b64encode(authority.read_bytes()).decode()
    changed = []
    for name in ("control-plane.yaml", "cluster-dns.yaml"):
        for obj in yaml.safe_load_all((resources / name).read_text()):
            for webhook in obj.get("webhooks", ()):
                webhook["clientConfig"]["caBundle"] = bundle
            ref = Ref.of(obj)
            before = cluster.get(ref)
            after = cluster.apply(obj, manager=MANAGER, force=True)
            if before is None or before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]:
                changed.append(f"{ref} {'changed' if before else 'created'}")
    return tuple(changed)


def assign_pod_range(cluster: Cluster, node_name: str) -> tuple[str, ...]:
    """Give the real node its range of pod addresses, once; kubelet and containerd read it from the Node."""
    ref = Ref("v1", "Node", "", node_name)
    node = cluster.get(ref)
    if node is None or node["spec"].get("podCIDR"):
        return ()
    first = str(next(POD_RANGE.subnets(new_prefix=24)))
    cluster.patch(ref, {"spec": {"podCIDR": first, "podCIDRs": [first]}})
    return (f"node {node_name} got the pod range {first}",)


def gpu_node(number: int, gpus: int, version: str) -> Object:
    """The simulated node `gpu-<number>` with `gpus` of nvidia.com/gpu, as of a kubelet of `version` ("v1.30.2")."""
    name = f"gpu-{number}"
    resources = _CAPACITY | {GPU: str(gpus)}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        SIMULATED_LABEL: "true",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | NODE_LABEL, "annotations": _ANNOTATION},
        "spec": {"taints": [{key: TOLERATION[key] for key in ("key", "value", "effect")}]},
        "status": {"capacity": resources, "allocatable": resources, "nodeInfo": _node_info(f"{version}-simulated")},
    }


def _node_info(version: str) -> dict[str, str]:
    """All fields are required; simulated nodes have no machine to tell of."""
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "simulated://0",
        "kernelVersion": "simulated",
        "kubeProxyVersion": version,
        "kubeletVersion": version,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "simulated",
        "systemUUID": "",
    }


def sync_gpu_nodes(cluster: Cluster, spec: RehearsalSpec) -> tuple[str, ...]:
    """Create, resize and delete simulated nodes until there are those that `spec` asks for; returns what was done.

    Nodes that carry the simulated label are this cluster's own; no other node is touched.
    """
    version = cluster.version["gitVersion"]
    live = {node["metadata"]["name"]: node for node in cluster.list("v1", "Node", labels=SELECTOR).items}
    wanted = {
        node["metadata"]["name"]: node
        for node in (gpu_node(number, spec.gpus_per_node, version) for number in range(1, spec.gpu_nodes + 1))
    }
    done = []
    for name, node in wanted.items():
        if name not in live:
            cluster.create(node)
            done.append(f"node {name} created with {spec.gpus_per_node} GPU")
        elif live[name]["status"].get("capacity", {}).get(GPU) != str(spec.gpus_per_node):
            path = f"/api/v1/nodes/{name}/status"
            body = {"status": node["status"]}
            cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")
            done.append(f"node {name} resized to {spec.gpus_per_node} GPU")
    for name, node in live.items():
        if name not in wanted and cluster.delete(Ref.of(node), uid=node["metadata"]["uid"]):
            done.append(f"node {name} deleted")
    return tuple(done)


Predicate = Callable[[dict[str, Object]], str]
"""Gives what is still missing as a phrase, or nothing, for the objects of one subject by name."""


def nodes_ready(names: Sequence[str], since: float) -> Predicate:
    """Every node in `names` is Ready and said so after `since` (seconds since the epoch; 0: ever)."""

    def missing(nodes: dict[str, Object]) -> str:
        waiting = [name for name in names if not _node_ready(nodes.get(name), since)]
        return f"node{'s' if len(waiting) > 1 else ''} {', '.join(waiting)} to become Ready" if waiting else ""

    return missing


def pods_ready(what: str, since: float) -> Predicate:
    """At least one pod is there, and all pods that are not being deleted are Ready, with containers started since."""

    def missing(pods: dict[str, Object]) -> str:
        current = [pod for pod in pods.values() if not pod["metadata"].get("deletionTimestamp")]
        if current and all(_pod_ready(pod, since) for pod in current):
            return ""
        reasons = {reason for pod in current for reason in _waiting_reasons(pod)}
        return f"{what} to become Ready" + (f" ({', '.join(sorted(reasons))})" if reasons else "")

    return missing


def exists(what: str) -> Predicate:
    """Anything is there."""
    return lambda objects: "" if objects else f"{what} to appear"


def wait_for(
    cluster: Cluster, wanted: dict[Subject, Predicate], seconds: float, progress: Progress
) -> dict[Subject, float]:
    """Watch until every predicate is content; returns the seconds that each took.

    Raises:
        ProblemsError: what is still missing when the time is over.
    """
    deadline = Deadline(seconds)
    state: dict[Subject, dict[str, Object]] = {subject: {} for subject in wanted}
    took: dict[Subject, float] = {}
    with Observer(cluster, list(wanted), deadline) as observer:
        told = 0.0
        for change in observer.changes(tick=1.0):
            if change is not None:
                _merge(state[change.subject], change.type, change.objects)
                if not wanted[change.subject](state[change.subject]):
                    took.setdefault(change.subject, deadline.elapsed)
                else:
                    took.pop(change.subject, None)
            if len(took) == len(wanted):
                return took
            if deadline.elapsed - told >= 2:  # noqa: PLR2004  seconds between two lines
                told = deadline.elapsed
                progress(f"waiting for {_missing(wanted, state)}")
    raise ProblemsError(
        Problem(
            f"after {seconds:.0f} s still waiting for {_missing(wanted, state)}.",
            "a node and system pods that become Ready.",
            "read `python -m kubeflow_volcano.rehearsal logs kubelet` and `logs containerd`; `up` again waits on.",
        )
    )


def wait_for_placement(cluster: Cluster, seconds: float) -> None:
    """See by a dry run that the placement webhook answers the API server.

    Raises:
        ProblemsError: it does not.
    """
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "rehearsal-placement-dry-run", "namespace": "default"},
        "spec": {
            "containers": [{"name": "any", "image": "any", "resources": {"limits": {GPU: "1"}}}],
        },
    }
    deadline = Deadline(seconds)
    trouble = "pods come back unchanged"
    while not deadline.passed:
        try:
            if SIMULATED_LABEL in cluster.create(pod, dry_run=True)["metadata"].get("labels", {}):
                return
        except ApiError as error:
            trouble = str(error)
        time.sleep(_RETRY_SECONDS)
    raise ProblemsError(
        Problem(
            f"the placement webhook does not answer the API server ({trouble}).",
            "pods that ask for a GPU are sent to simulated nodes.",
            "read `python -m kubeflow_volcano.rehearsal logs placement`.",
        )
    )


def _missing(wanted: dict[Subject, Predicate], state: dict[Subject, dict[str, Object]]) -> str:
    return ", ".join(text for subject, predicate in wanted.items() if (text := predicate(state[subject])))


def _merge(objects: dict[str, Object], kind: str, news: Sequence[Object]) -> None:
    if kind == "RESET":
        objects.clear()
    for obj in news:
        if kind == "DELETED":
            objects.pop(obj["metadata"]["name"], None)
        else:
            objects[obj["metadata"]["name"]] = obj


def _node_ready(node: Object | None, since: float) -> bool:
    ready = conditions(node).get("Ready", {}) if node else {}
    return ready.get("status") == "True" and (not since or _seconds(ready.get("lastHeartbeatTime")) >= int(since))


def _pod_ready(pod: Object, since: float) -> bool:
    starts = [item.get("state", {}).get("running", {}) for item in pod["status"].get("containerStatuses") or ()]
    return conditions(pod).get("Ready", {}).get("status") == "True" and all(
        _seconds(running.get("startedAt")) >= int(since) for running in starts
    )


def _waiting_reasons(pod: Object) -> list[str]:
    states: list[dict[str, Any]] = [item.get("state", {}) for item in pod["status"].get("containerStatuses") or ()]
    return [state["waiting"]["reason"] for state in states if "reason" in state.get("waiting", {})]


def _seconds(timestamp: str | None) -> float:
    """Seconds since the epoch of a Kubernetes time (whole seconds, UTC)."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
