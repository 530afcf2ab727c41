"""The simulated nodes: their objects, and creating, resizing and deleting them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rehearsal.inside.placement import PLATFORM_POOL, SIMULATED_LABEL, TOLERATION, TRAINING_POOL
from kubeflow_volcano.rehearsal.spec import GPU, PLATFORM_NODES, NodeKind, RehearsalSpec

PLATFORM_NODE = f"{PLATFORM_NODES}-1"
"""The node for Kubeflow's components. It exists with any number of GPU nodes, as volumes are bound to it."""
SELECTOR = f"{SIMULATED_LABEL}=true"
"""Selects the nodes that this module creates."""
_ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
_DESCRIBED = "rehearsal.kubeflow-volcano.io/described"
"""Annotation with the labels and resources that the node has of its kind: those alone go when its kind changes."""
_CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi", "pods": "110"}


def names(spec: RehearsalSpec) -> list[str]:
    """Names of all simulated nodes of `spec`."""
    return [PLATFORM_NODE, *(name for kind in spec.kinds for name in kind.names)]


def device_node(name: str, kind: NodeKind, version: str) -> Object:
    """A simulated node with what its kind describes, as of a kubelet of `version` ("v1.30.2")."""
    devices = {key: str(amount) for key, amount in kind.resources.items()}
    node = _node(name, {**kind.labels, **TRAINING_POOL}, _CAPACITY | devices, version)
    described = {"labels": sorted(kind.labels), "resources": sorted(devices)}
    node["metadata"]["annotations"] = {**_ANNOTATION, _DESCRIBED: json.dumps(described)}
    return node


def platform_node(version: str) -> Object:
    """The simulated node for Kubeflow's components: the same without devices."""
    return _node(PLATFORM_NODE, PLATFORM_POOL, _CAPACITY, version)


def _node(name: str, labels: Mapping[str, str], resources: Mapping[str, str], version: str) -> Object:
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **labels,
        "kubernetes.io/hostname": name,
        SIMULATED_LABEL: "true",
    }
    info = _node_info(f"{version}-simulated", labels["kubernetes.io/arch"])
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": _ANNOTATION},
        "spec": {"taints": [{key: TOLERATION[key] for key in ("key", "value", "effect")}]},
        "status": {"capacity": resources, "allocatable": resources, "nodeInfo": info},
    }


def _node_info(version: str, architecture: str) -> dict[str, str]:
    """All fields are required, also of a node without a machine."""
    return {
        "architecture": architecture,
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
    nodes = [device_node(name, kind, version) for kind in spec.kinds for name in kind.names]
    for node in (platform_node(version), *nodes):
        name, known = node["metadata"]["name"], live.pop(node["metadata"]["name"], None)
        if known is None:
            yield f"node {name} created with {devices_of(node) or 'no device'}", partial(cluster.create, node)
            continue
        described = _described(known)
        labels = _changes(node["metadata"]["labels"], known["metadata"].get("labels") or {}, described["labels"])
        resources = _changes(_devices(node), known["status"].get("capacity") or {}, described["resources"])
        text = f"resized to {devices_of(node) or 'no device'}" if resources else "labelled"
        if labels or resources or described != _described(node):
            yield f"node {name} {text}", partial(_change, cluster, node, labels, resources)
    for name, node in live.items():
        yield f"node {name} deleted", partial(cluster.delete, Ref.of(node), uid=node["metadata"]["uid"])


def _change(cluster: Cluster, node: Object, labels: Mapping[str, Any], resources: Mapping[str, Any]) -> bool:
    path, content = f"/api/v1/nodes/{node['metadata']['name']}", "application/merge-patch+json"
    meta = {"labels": labels, "annotations": node["metadata"]["annotations"]}
    cluster.request("PATCH", path, body={"metadata": meta}, content_type=content)
    status = {"capacity": resources, "allocatable": resources}
    cluster.request("PATCH", f"{path}/status", body={"status": status}, content_type=content)
    return True


def _changes(wanted: Mapping[str, str], live: Mapping[str, str], former: Iterable[str]) -> dict[str, str | None]:
    """What a merge patch changes; labels and resources that no kind described are of other programs."""
    gone = {key: None for key in former if key not in wanted and key in live}
    return gone | {key: value for key, value in wanted.items() if live.get(key) != value}


def _devices(node: Object) -> dict[str, str]:
    return {key: value for key, value in node["status"]["capacity"].items() if key not in _CAPACITY}


def _described(node: Object) -> dict[str, list[str]]:
    """The labels and resources that the node has of its kind; nodes of earlier versions had GPUs only."""
    text = (node["metadata"].get("annotations") or {}).get(_DESCRIBED)
    found: dict[str, list[str]] = foreign.read_json(text) if text else {"labels": [], "resources": [GPU]}
    return found


def devices_of(node: Object) -> str:
    """The devices that pods can get on the node, as text: `8 huawei.com/Ascend910`."""
    offered = node["status"].get("allocatable") or {}
    return ", ".join(f"{amount} {name}" for name, amount in offered.items() if "/" in name and amount != "0")
