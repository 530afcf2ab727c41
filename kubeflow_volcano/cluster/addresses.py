"""Addresses of the cluster itself, which no proxy reaches: ranges of Services and pods, nodes, the API server.

No API of all versions says the ranges. Asked are ServiceCIDR (since Kubernetes 1.31), kubeadm's configuration, and the
message that refuses an address outside the range in a dry run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.foreign import read_yaml

_SERVICE_CIDR = ("networking.k8s.io/v1", "ServiceCIDR")
_KUBEADM = Ref("v1", "ConfigMap", "kube-system", "kubeadm-config")
_KUBERNETES = Ref("v1", "Service", "default", "kubernetes")
_ENDPOINTS = Ref("discovery.k8s.io/v1", "EndpointSlice", "default", "kubernetes")
_OUTSIDE = "127.1.2.3"
"""No range of Services has it."""
_RANGE = re.compile(r"range of valid IPs[\w ]{0,60} is ([0-9a-f.:]+/[0-9]+)")


def cluster_addresses(cluster: Cluster) -> tuple[str, ...]:
    """All of them: the domain of Services if it is known, ranges, the API server, nodes; in the same order in each run.

    Raises:
        ApiError: nodes cannot be listed, or the API server does not answer.
    """
    nodes = cluster.list("v1", "Node").items
    kubeadm = _kubeadm(cluster)
    ranges = [*_ranges_of_services(cluster, kubeadm), *_ranges_of_pods(nodes, kubeadm)]
    domain = f".{kubeadm['dnsDomain']}" if kubeadm.get("dnsDomain") else ""
    return tuple(filter(None, dict.fromkeys([domain, *ranges, *_api_server(cluster), *sorted(_of_nodes(nodes))])))


def _ranges_of_services(cluster: Cluster, kubeadm: Object) -> list[str]:
    try:
        ranges = sorted(text for item in cluster.list(*_SERVICE_CIDR).items for text in item["spec"]["cidrs"])
    except ApiError:
        ranges = []
    return ranges or _split(kubeadm.get("serviceSubnet")) or _refused_range(cluster)


def _refused_range(cluster: Cluster) -> list[str]:
    service: Object = new_object(
        "v1", "Service", "kubeflow-volcano-range", "default", spec={"clusterIP": _OUTSIDE, "ports": [{"port": 443}]}
    )
    try:
        cluster.create(service, dry_run=True)
    except ApiError as error:
        return _RANGE.findall(error.message)
    return []


def _ranges_of_pods(nodes: Iterable[Object], kubeadm: Object) -> list[str]:
    """Kubeadm's range, else those of the nodes; none where a network plugin keeps its own."""
    own = {text for node in nodes for text in node["spec"].get("podCIDRs") or (node["spec"].get("podCIDR"),) if text}
    return _split(kubeadm.get("podSubnet")) or sorted(own)


def _api_server(cluster: Cluster) -> Iterator[str]:
    spec = (cluster.get(_KUBERNETES) or {}).get("spec") or {}
    yield from spec.get("clusterIPs") or filter(None, (spec.get("clusterIP"),))
    slices = cluster.get(_ENDPOINTS) or {}
    yield from sorted(text for item in slices.get("endpoints") or () for text in item["addresses"])


def _of_nodes(nodes: Iterable[Object]) -> set[str]:
    addresses = (item for node in nodes for item in node.get("status", {}).get("addresses") or ())
    return {item["address"] for item in addresses if item["type"] in {"InternalIP", "ExternalIP"}}


def _kubeadm(cluster: Cluster) -> Object:
    """The part about networks of kubeadm's configuration; empty where it did not make the cluster."""
    try:
        live = cluster.get(_KUBEADM)
        text = (live or {}).get("data", {}).get("ClusterConfiguration", "")
        networking: Object = (read_yaml(text) or {}).get("networking") or {}
    except (ApiError, AttributeError, yaml.YAMLError):
        return {}
    return networking


def _split(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]
