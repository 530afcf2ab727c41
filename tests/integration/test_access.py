"""What the way in adds is accepted by a real API server, in dry runs that are strict about fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.access.requirements import unmet_access
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.way_in import way_in

HOST = "kf.example.org"
WAYS: dict[str, dict[str, Any]] = {
    "node-port": {"kubeflow_access": "node-port", "kubeflow_host": HOST, "kubeflow_node_port": 31390},
    "load-balancer": {"kubeflow_access": "load-balancer", "kubeflow_host": HOST},
    "ingress": {"kubeflow_access": "ingress", "kubeflow_host": HOST, "kubeflow_ingress_class": "none-such"},
}
SERVED_EVERYWHERE = {"Service", "Ingress", "NetworkPolicy"}


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Iterator[str]:
    """One of this module's own."""
    name = f"kfv-access-{uuid4().hex[:6]}"
    made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    cluster.delete(Ref.of(made), uid=made["metadata"]["uid"])


def upstream(namespace: str) -> dict[str, list[Object]]:
    """As far as the way in changes them."""
    place = {"namespace": namespace}
    ports = [{"name": "http2", "port": 80, "targetPort": 8080}, {"name": "https", "port": 443, "targetPort": 8443}]
    networking = "networking.istio.io/v1alpha3"
    return {
        "istio": [new_object("v1", "Service", "istio-ingressgateway", meta={**place}, spec={"ports": ports})],
        "istio-namespace": [
            new_object(
                "networking.k8s.io/v1", "NetworkPolicy", "same-namespace", meta={**place}, spec={"podSelector": {}}
            )
        ],
        "kubeflow-istio-resources": [
            new_object(networking, "Gateway", "kubeflow-gateway", meta={**place}, spec={"servers": []})
        ],
    }


def strict(cluster: Cluster, obj: Object) -> Object:
    """A dry run of server-side apply in which unknown and repeated fields are errors."""
    ref = Ref.of(obj)
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
    query = {"fieldManager": "kfv-test", "fieldValidation": "Strict", "dryRun": "All"}
    answer: Object = cluster.request("PATCH", path, query=query, body=obj, content_type="application/apply-patch+yaml")
    return answer


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("certificate", ["none", "self-signed"])
def test_the_objects_are_accepted(cluster: Cluster, namespace: str, way: str, certificate: str) -> None:
    tls = {"kubeflow_secure_cookies": False} if certificate == "none" else {"kubeflow_tls": certificate}
    settings = parse({"kubeflow_profile": "full", **WAYS[way], **tls})
    accepted: dict[str, Object] = {}
    for name, objects in upstream(namespace).items():
        for obj in patched(objects, name, settings):
            obj["metadata"]["namespace"] = namespace
            if obj["kind"] in SERVED_EVERYWHERE or obj["apiVersion"] in (cluster.all_kinds() or {}):
                accepted[f"{obj['kind']} {obj['metadata']['name']}"] = strict(cluster, obj)
    types = {"node-port": "NodePort", "load-balancer": "LoadBalancer"}
    service = accepted["Service istio-ingressgateway"]["spec"]
    assert service["type"] == types.get(way, "ClusterIP")
    assert [item["port"] for item in service["ports"] if item.get("nodePort") == 31390] == (
        [] if way != "node-port" else [80 if certificate == "none" else 443]
    )
    assert ("Ingress kubeflow-gateway" in accepted) == (way == "ingress")
    assert accepted["NetworkPolicy kubeflow-gateway"]["spec"]["ingress"][0]["ports"]


def test_strict_means_strict(cluster: Cluster, namespace: str) -> None:
    (service,) = upstream(namespace)["istio"]
    service["spec"]["nodeport"] = 31390
    with pytest.raises(ApiError, match="nodeport"):
        strict(cluster, service)


def test_what_this_cluster_lacks_is_refused_and_the_end_of_a_run_reads_from_it(
    cluster: Cluster, namespace: str
) -> None:
    ports = [{"port": 80, "nodePort": 31399}]
    spec = {"type": "NodePort", "ports": ports}
    taken = cluster.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": namespace}, "spec": spec}
    )
    parts: dict[str, tuple[Object, ...]] = {"istio": (), "kubeflow-istio-resources": ()}
    issuer = {"kubeflow_tls": "issuer", "kubeflow_tls_issuer": f"no-{namespace}"}
    ingress = parse({"kubeflow_profile": "full", **WAYS["ingress"], **issuer})
    port = parse({"kubeflow_profile": "full", **WAYS["node-port"], "kubeflow_node_port": 31399, **issuer})
    secret = {"kubeflow_tls": "secret", "kubeflow_tls_secret": f"no-{namespace}"}
    balancer = parse({"kubeflow_profile": "full", **WAYS["load-balancer"], **secret})
    found = [
        str(item) for settings in (ingress, port, balancer) for item in unmet_access(cluster, settings.access, parts)
    ]
    issuer_words = ("kubeflow_tls_issuer", f"ClusterIssuer no-{namespace}")
    wanted = [
        issuer_words,
        ("kubeflow_ingress_class", "none-such"),
        issuer_words,
        ("kubeflow_node_port is 31399", str(Ref.of(taken))),
        ("kubeflow_tls_secret", f"Secret istio-system/no-{namespace}"),
    ]
    for text, words in zip(found, wanted, strict=True):
        assert [word for word in words if word not in text.partition(". ")[0]] == []
    assert way_in(cluster, ingress)[0] == f"address: https://{HOST}/"
