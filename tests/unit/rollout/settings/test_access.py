"""The way in: combinations that work, and every reason why another one does not, at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import refusals

NODE_PORT = {"kubeflow_access": "node-port", "kubeflow_host": "192.0.2.7"}
INGRESS = {"kubeflow_access": "ingress", "kubeflow_host": "kf.example.org", "kubeflow_ingress_class": "nginx"}
SIGNED = {"kubeflow_tls": "self-signed"}


def problems(**variables: Any) -> list[str]:
    return [str(problem) for problem in refusals.problems(**{"kubeflow_profile": "full", **variables})]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"kubeflow_secure_cookies": False},
        {**NODE_PORT, **SIGNED},
        {**NODE_PORT, **SIGNED, "kubeflow_host": "fd00::7", "kubeflow_node_port": 31390},
        {**NODE_PORT, "kubeflow_secure_cookies": False},
        {"kubeflow_access": "load-balancer", "kubeflow_tls": "secret", "kubeflow_tls_secret": "own"},
        {**INGRESS, "kubeflow_tls": "issuer", "kubeflow_tls_issuer": "letsencrypt"},
        {**INGRESS, **SIGNED, "kubeflow_existing": ["cert-manager"]},
    ],
)
def test_these_ways_in_are_accepted(variables: dict[str, Any]) -> None:
    assert problems(**variables) == []


@pytest.mark.parametrize("way", [NODE_PORT, INGRESS, {"kubeflow_access": "load-balancer"}])
def test_plain_http_with_secure_cookies_is_refused_with_the_setting_that_helps(way: dict[str, Any]) -> None:
    (problem,) = problems(**way)
    assert "kubeflow/kubeflow#5803" in problem
    assert "set kubeflow_tls: self-signed" in problem
    assert "kubeflow_secure_cookies: false" in problem


def test_everything_that_is_missing_is_told_at_once() -> None:
    text = "\n".join(problems(kubeflow_access="ingress", kubeflow_tls="secret"))
    for words in ("kubeflow_host is empty", "kubeflow_ingress_class is empty", "kubeflow_tls_secret is empty"):
        assert words in text
    assert "kubeflow_tls_issuer is empty" in "\n".join(problems(**NODE_PORT, kubeflow_tls="issuer"))


def test_a_load_balancer_needs_a_host_only_for_a_certificate_that_is_issued() -> None:
    (problem,) = problems(kubeflow_access="load-balancer", **SIGNED)
    assert "kubeflow_host is empty" in problem


def test_what_the_way_in_does_not_read_is_refused() -> None:
    found = problems(kubeflow_host="kf.example.org", kubeflow_tls="self-signed", kubeflow_node_port=31000)
    assert [problem.partition(" is ")[0].rpartition(" ")[2] for problem in found] == [
        "kubeflow_host",
        "kubeflow_tls",
        "kubeflow_node_port",
    ]


def test_an_ingress_has_a_name_and_no_address() -> None:
    (problem,) = problems(**INGRESS | {"kubeflow_host": "192.0.2.7"}, **SIGNED)
    assert "a DNS name" in problem


@pytest.mark.parametrize(("port", "right"), [(29999, False), (30000, True), (32767, True), (32768, False)])
def test_node_ports_are_those_of_the_api_server(port: int, right: bool) -> None:  # noqa: FBT001
    assert (problems(**NODE_PORT, **SIGNED, kubeflow_node_port=port) == []) is right


@pytest.mark.parametrize("host", ["https://kf.example.org", "kf.example.org:8443", "kf example", "Kf.example.org"])
def test_a_host_has_no_scheme_and_no_port(host: str) -> None:
    assert any("kubeflow_host is" in problem for problem in problems(**NODE_PORT | {"kubeflow_host": host}))


def test_the_gateway_and_the_issuer_of_certificates_are_to_be_there() -> None:
    text = "\n".join(problems(**NODE_PORT, **SIGNED, kubeflow_profile="training"))
    assert "istio and kubeflow-istio-resources" in text
    assert "cert-manager is not" in text


def test_the_service_of_others_is_not_changed_but_an_ingress_leads_to_it() -> None:
    existing = ["istio-crds", "istio-namespace", "istio"]
    (problem,) = problems(**NODE_PORT, **SIGNED, kubeflow_existing=existing)
    assert "istio is not" in problem
    assert problems(**INGRESS, **SIGNED, kubeflow_existing=existing) == []
