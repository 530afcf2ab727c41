"""The addresses that a real cluster tells of itself, which its pods reach without the proxy."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.cluster.addresses import cluster_addresses
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.prepare import prepare
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.settings import parse
from tests.integration.rolling import own_sources

pytestmark = pytest.mark.cluster

KUBEADM = Ref("v1", "ConfigMap", "kube-system", "kubeadm-config")
NETWORKING = {"dnsDomain": "company.lan", "podSubnet": "10.20.0.0/16,fd00:10::/56", "serviceSubnet": "10.21.0.0/16"}

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "dex", "namespace": "auth"},
    "spec": {
        "selector": {"matchLabels": {"app": "dex"}},
        "template": {
            "metadata": {"labels": {"app": "dex"}},
            "spec": {"containers": [{"name": "dex", "image": "dex:1"}]},
        },
    },
}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "authcodes.dex.coreos.com"},
    "spec": {
        "group": "dex.coreos.com",
        "names": {"kind": "AuthCode", "plural": "authcodes"},
        "scope": "Namespaced",
        "versions": [VERSION],
    },
}


def covered(address: str, found: tuple[str, ...]) -> bool:
    networks = [ip_network(text) for text in found if "/" in text]
    return address in found or any(ip_address(address) in network for network in networks)


@pytest.fixture
def kubeadm(cluster: Cluster) -> Iterator[None]:
    """What kubeadm writes down about the networks of the clusters that it makes."""
    obj: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": KUBEADM.name, "namespace": KUBEADM.namespace},
        "data": {"ClusterConfiguration": yaml.safe_dump({"kind": "ClusterConfiguration", "networking": NETWORKING})},
    }
    made = cluster.create(obj)
    yield
    cluster.delete(KUBEADM, uid=made["metadata"]["uid"])


def test_services_nodes_and_the_api_server_are_among_them(cluster: Cluster) -> None:
    found = cluster_addresses(cluster)
    services = [item["spec"]["clusterIP"] for item in cluster.list("v1", "Service").items]
    nodes = [item["address"] for node in cluster.list("v1", "Node").items for item in node["status"]["addresses"]]
    assert [text for text in services if text != "None" and not covered(text, found)] == []
    assert any("/" in text for text in found)
    assert [text for text in nodes if text[0].isdigit() and text not in found] == []
    assert cluster_addresses(cluster) == found
    assert cluster.get(Ref("v1", "Service", "default", "kubeflow-volcano-range")) is None


@pytest.mark.usefixtures("kubeadm")
def test_kubeadm_names_the_ranges_of_pods_and_the_domain(cluster: Cluster) -> None:
    found = cluster_addresses(cluster)
    assert found[0] == ".company.lan"
    assert {"10.20.0.0/16", "fd00:10::/56"} <= {*found}


def test_a_roll_out_excepts_them(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """In a Deployment that stands for the component."""
    (tmp_path / "kustomization.yaml").write_text("resources: [dex.yaml]\n")
    (tmp_path / "dex.yaml").write_text(yaml.safe_dump_all([DEPLOYMENT, CRD]))
    variables = {
        "kubeflow_components": ["dex"],
        "kubeflow_proxy": {"https": "http://proxy.lan:3128"},
        "kustomize_binary": own_sources(kubeconfig)["kustomize_binary"],
        "kubeflow_sources": {"dex": str(tmp_path)},
    }
    settings = parse(variables)
    found = prepare(cluster, settings, Scope((settings.component("dex"),)), check=True, progress=silent)
    (deployment,) = (obj for obj in found.desired.parts["dex"] if obj["kind"] == "Deployment")
    env = {item["name"]: item["value"] for item in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    excepted = tuple(env["NO_PROXY"].split(","))
    assert [text for text in cluster_addresses(cluster) if "/" in text and text not in excepted] == []
    assert [text for text in cluster_addresses(cluster) if "/" not in text and not covered(text, excepted)] == []
