"""The simulated nodes: their objects, and creating, resizing and deleting them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rehearsal.inside.placement import GPU, GPU_POOL, PLATFORM_POOL, SIMULATED_LABEL, TOLERATION
from kubeflow_volcano.rehearsal.spec import RehearsalSpec

PLATFORM_NODE = "cpu-1"
"""The node for Kubeflow's components. It exists with any number of GPU nodes, as volumes are bound to it."""
SELECTOR = f"{SIMULATED_LABEL}=true"
"""Selects the nodes that this module creates."""
_ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
_CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi", "pods": "110"}


def names(spec: RehearsalSpec) -> list[str]:
    """Names of all simulated nodes of `spec`."""
    return [PLATFORM_NODE, *(_gpu_node_name(number) for number in range(1, spec.gpu_nodes + 1))]


def gpu_node(number: int, gpus: int, version: str) -> Object:
    """The simulated node `gpu-<number>` with `gpus` of nvidia.com/gpu, as of a kubelet of `version` ("v1.30.2")."""
    return _node(_gpu_node_name(number), GPU_POOL, _CAPACITY | {GPU: str(gpus)}, version)


def platform_node(version: str) -> Object:
    """The simulated node for Kubeflow's components: the same without GPUs."""
    return _node(PLATFORM_NODE, PLATFORM_POOL, _CAPACITY, version)


def _gpu_node_name(number: int) -> str:
    return f"gpu-{number}"


def _node(name: str, pool: Mapping[str, str], resources: Mapping[str, str], version: str) -> Object:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        SIMULATED_LABEL: "true",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **pool}, "annotations": _ANNOTATION},
        "spec": {"taints": [{key: TOLERATION[key] for key in ("key", "value", "effect")}]},
        "status": {"capacity": resources, "allocatable": resources, "nodeInfo": _node_info(f"{version}-simulated")},
    }


def _node_info(version: str) -> dict[str, str]:
    """All fields are required, also of a node without a machine."""
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


def sync(cluster: Cluster, spec: RehearsalSpec, *, check: bool = False) -> tuple[str, ...]:
    """Create, resize and delete simulated nodes to match `spec`; returns the changes as text.

    Only nodes with the simulated label are changed. With `check` nothing is changed; the changes to come are returned.
    """
    done = []
    for text, step in _steps(cluster, spec):
        if check or step():
            done.append(text)
    return tuple(done)


def require_rehearsal_cluster(cluster: Cluster) -> None:
    """Check that this is a rehearsal cluster, before nodes without a machine are created in it.

    Raises:
        InvalidInput: it lacks the simulated node for Kubeflow's components, which every rehearsal cluster has.
    """
    live = cluster.get(Ref("v1", "Node", "", PLATFORM_NODE))
    if live is None or (live["metadata"].get("labels") or {}).get(SIMULATED_LABEL) != "true":
        raise InvalidInput.problem(
            f"the cluster {cluster.credentials.server} has no simulated node {PLATFORM_NODE}.",
            "a rehearsal cluster, as this command changes the cluster's nodes.",
            "use the inventory of a rehearsal cluster, such as inventory/rehearsal.",
        )


def _steps(cluster: Cluster, spec: RehearsalSpec) -> Iterator[tuple[str, Callable[[], object]]]:
    version = cluster.version["gitVersion"]
    live = {node["metadata"]["name"]: node for node in cluster.list("v1", "Node", labels=SELECTOR).items}
    gpu_nodes = [gpu_node(number, spec.gpus_per_node, version) for number in range(1, spec.gpu_nodes + 1)]
    for node in (platform_node(version), *gpu_nodes):
        name, gpus = node["metadata"]["name"], node["status"]["capacity"].get(GPU, "0")
        known = live.pop(name, None)
        if known is None:
            yield f"node {name} created with {gpus} GPU", partial(cluster.create, node)
        elif known["status"].get("capacity", {}).get(GPU, "0") != gpus:
            yield f"node {name} resized to {gpus} GPU", partial(_resize, cluster, node)
    for name, node in live.items():
        yield f"node {name} deleted", partial(cluster.delete, Ref.of(node), uid=node["metadata"]["uid"])


def _resize(cluster: Cluster, node: Object) -> Object:
    path = f"/api/v1/nodes/{node['metadata']['name']}/status"
    resources = {key: node["status"][key] for key in ("capacity", "allocatable")}
    body = {"status": resources}
    resized: Object = cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")
    return resized
