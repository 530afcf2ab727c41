"""What the way in needs of a cluster, and what a run ends with."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.access.requirements import unmet_access
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.way_in import answer, way_in
from tests.samples.stored import Stored

PASSWORD = "only-for-tests"  # noqa: S105  of no cluster
GATEWAY = "kubeflow-istio-resources"
PARTS: Mapping[str, tuple[Object, ...]] = {"istio": (), GATEWAY: ()}
NODE_PORT: dict[str, Any] = {
    "kubeflow_access": "node-port",
    "kubeflow_host": "192.0.2.7",
    "kubeflow_tls": "self-signed",
}
OWN: dict[str, Any] = {"kubeflow_access": "load-balancer", "kubeflow_tls": "secret", "kubeflow_tls_secret": "own"}
ISSUER: dict[str, Any] = {
    "kubeflow_access": "load-balancer",
    "kubeflow_host": "kf.example.org",
    "kubeflow_tls": "issuer",
    "kubeflow_tls_issuer": "acme",
}
INGRESS: dict[str, Any] = {
    **NODE_PORT,
    "kubeflow_access": "ingress",
    "kubeflow_host": "kf.example.org",
    "kubeflow_ingress_class": "a",
}


def named(kind: str, name: str, namespace: str = "", api_version: str = "v1", **more: Any) -> Object:
    return new_object(api_version, kind, name, namespace, **more)


def secret(name: str, namespace: str, **texts: str) -> Object:
    data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return named("Secret", name, namespace, data=data)


def service(kind: str = "ClusterIP", name: str = "istio-ingressgateway", **status: Any) -> Object:
    ports = [{"port": 80, "nodePort": 31080}, {"port": 443, "nodePort": 31443}]
    return named("Service", name, "istio-system", spec={"type": kind, "ports": ports}, status=status)


def node(address: str) -> Object:
    return named("Node", f"n-{address}", status={"addresses": [{"type": "InternalIP", "address": address}]})


def ingress(*addresses: str) -> Object:
    status = {"loadBalancer": {"ingress": [{"ip": item} for item in addresses]}}
    return named("Ingress", "kubeflow-gateway", "istio-system", "networking.k8s.io/v1", status=status)


def settings(**variables: Any) -> Settings:
    return parse({"kubeflow_profile": "full"} | variables)


def unmet(cluster: Any, parts: Mapping[str, tuple[Object, ...]] = PARTS, **variables: Any) -> list[str]:
    return [str(problem) for problem in unmet_access(cluster, settings(**variables).access, parts)]


def test_a_forwarded_port_needs_nothing_and_asks_nothing() -> None:
    assert unmet(None) == []


def test_the_secret_of_the_certificate_has_to_be_there_with_both_keys() -> None:
    (absent,) = unmet(Stored(), **OWN)
    assert "Secret istio-system/own of kubeflow_tls_secret" in absent
    assert "secret tls own" in absent
    (half,) = unmet(Stored(secret("own", "istio-system", tls_crt="a")), **OWN)
    assert "lacks tls.key" in half
    assert unmet(Stored(secret("own", "istio-system", tls_crt="a", tls_key="b")), **OWN) == []


def test_the_issuer_has_to_be_there_or_to_come_with_the_roll_out() -> None:
    issuer = named("ClusterIssuer", "acme", api_version="cert-manager.io/v1")
    (absent,) = unmet(Stored(), **ISSUER)
    assert "ClusterIssuer acme of kubeflow_tls_issuer" in absent
    assert unmet(Stored(issuer), **ISSUER) == []
    assert unmet(Stored(), {**PARTS, "kubeflow-issuer": (issuer,)}, **ISSUER) == []
    (elsewhere,) = unmet(Stored(issuer), **ISSUER, kubeflow_tls_issuer_kind="Issuer")
    assert "no Issuer istio-system/acme" in elsewhere


def test_an_unknown_ingress_class_is_refused_with_those_that_exist() -> None:
    (problem,) = unmet(Stored(named("IngressClass", "b", api_version="networking.k8s.io/v1")), **INGRESS)
    assert re.search("IngressClass .*: b.", problem)
    assert "no controller either" in unmet(Stored(), **INGRESS)[0]
    assert unmet(Stored(named("IngressClass", "a", api_version="networking.k8s.io/v1")), **INGRESS) == []


def test_a_node_port_of_another_service_is_refused() -> None:
    asked = {**NODE_PORT, "kubeflow_node_port": 31443}
    (problem,) = unmet(Stored(service(name="other")), **asked)
    assert re.search("kubeflow_node_port is 31443, .*Service istio-system/other ", problem)
    assert unmet(Stored(service()), **asked) == []


def test_roles_without_the_gateway_do_not_ask() -> None:
    assert unmet(Stored(), {"volcano": ()}, **OWN) == []


@pytest.mark.parametrize(
    ("variables", "live", "address"),
    [
        ({}, service(), "http://localhost:8080 while this runs:"),
        (NODE_PORT, service("NodePort"), "https://192.0.2.7:31443/"),
        ({**NODE_PORT, "kubeflow_host": "fd00::7"}, service("NodePort"), "https://[fd00::7]:31443/"),
        (
            {**NODE_PORT, "kubeflow_tls": "none", "kubeflow_secure_cookies": False},
            service("NodePort"),
            "http://192.0.2.7:31080/",
        ),
        (OWN, service("LoadBalancer", loadBalancer={"ingress": [{"ip": "203.0.113.9"}]}), "https://203.0.113.9/"),
        (OWN, service("LoadBalancer"), "none yet; the load balancer has assigned none. This shows it (EXTERNAL-IP):"),
        (ISSUER, service("LoadBalancer"), "https://kf.example.org/"),
        (INGRESS, service(), "https://kf.example.org/"),
    ],
)
def test_a_run_ends_with_the_address(variables: dict[str, Any], live: Object, address: str) -> None:
    cluster: Any = Stored(live)
    lines = way_in(cluster, settings(**variables), lambda _: "")
    assert lines[0] == f"address: {address}"
    assert "user: user@example.com" in lines


@pytest.mark.parametrize(
    ("variables", "objects", "told"),
    [
        (NODE_PORT, [service("NodePort"), node("192.0.2.1")], "is the address of no node; there are 192.0.2.1"),
        (NODE_PORT, [service("NodePort"), node("192.0.2.7")], ""),
        (ISSUER, [service("LoadBalancer")], "no load balancer serves it"),
        (ISSUER, [service("LoadBalancer", loadBalancer={"ingress": [{"ip": "203.0.113.9"}]})], ""),
        (INGRESS, [service(), ingress()], "no controller serves class"),
        (INGRESS, [service(), ingress("203.0.113.9")], ""),
    ],
)
def test_an_address_that_does_not_answer_is_said_to_and_why(
    variables: dict[str, Any], objects: list[Object], told: str
) -> None:
    cluster: Any = Stored(*objects)
    lines = way_in(cluster, settings(**variables), lambda _: "timed out")
    assert lines[1].endswith(": timed out")
    why = lines[2] if not lines[2].startswith(("user:", "  the certificate", "  redirect")) else ""
    assert told in why
    assert bool(why) == bool(told)


def test_an_address_answers_whatever_it_says_and_nobody_there_is_told() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_address[1]
        thread = Thread(target=server.handle_request)
        thread.start()
        assert answer(f"http://127.0.0.1:{port}/") == ""
        thread.join()
    assert "refused" in answer(f"http://127.0.0.1:{port}/").lower()
    assert answer(f"http://{'a' * 64}.example/")  # no name to the resolver, which raises what is no OSError


def test_it_ends_with_the_command_that_reads_a_random_password_and_never_with_the_password() -> None:
    cluster: Any = Stored(
        service(), secret("first-user", "kubeflow-volcano", email="user@example.com", password=PASSWORD)
    )
    found = settings(kubeflow_kubeconfig="/a b/config")
    text = "\n".join(way_in(cluster, found))
    assert "password: kubectl --kubeconfig '/a b/config' -n kubeflow-volcano get secret first-user" in text
    assert "kubectl --kubeconfig '/a b/config' -n istio-system port-forward" in text
    given = settings(kubeflow_user_password=PASSWORD)
    empty: Any = Stored(service())
    text += "\n".join(way_in(empty, given))
    assert "kubeflow_user_password" in text
    assert PASSWORD not in text
    published = settings(kubeflow_published_password=True)
    assert [line for line in way_in(empty, published) if re.match("password: .*upstream", line)]


def test_without_a_gateway_there_is_nothing_to_say_and_nothing_is_asked() -> None:
    nobody: Any = None
    assert way_in(nobody, parse({"kubeflow_profile": "training"})) == ()


def test_a_cluster_that_answers_no_more_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster: Any = Stored()

    def refuse(*_: Any, **__: Any) -> None:
        raise ApiError(503, "ServiceUnavailable", "try later")

    monkeypatch.setattr(cluster, "get", refuse)
    (line,) = way_in(cluster, settings(**NODE_PORT))
    assert re.match("address: .*503 ServiceUnavailable", line)


def test_a_run_ends_with_the_stores_that_it_uses() -> None:
    live = named("Service", "seaweedfs", "kubeflow", spec={"ports": [{"port": 8333}, {"port": 9000}]})
    given = {"endpoint": "https://s3.example.org", "access_key": "a", "secret_key": "b-secret"}
    for objects, variables, place in (
        ((), {}, None),
        ((live,), {}, "http://seaweedfs.kubeflow:9000;"),
        ((live,), {"kubeflow_object_store": given}, "https://s3.example.org/mlpipeline;"),
    ):
        cluster: Any = Stored(service(), *objects)
        lines = [line for line in way_in(cluster, settings(**variables), lambda _: "") if "object store" in line]
        assert [line.split()[2] for line in lines] == ([place] if place else [])
        assert "b-secret" not in str(lines)
