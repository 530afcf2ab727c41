"""Golden fields of upstream's manifests, for each release, way in and certificate; and nothing else changes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.unit.releases import Upstream, WholeRelease, by_ref

APPLICATIONS = ("jupyter-web-app", "models-web-app", "tensorboards-web-app", "volumes-web-app")
CHANGED = ("istio", "istio-namespace", "kubeflow-istio-resources", *APPLICATIONS)
HOST = "kf.example.org"

WAYS: Mapping[str, dict[str, Any]] = {
    "port-forward": {},
    "node-port": {"kubeflow_access": "node-port", "kubeflow_host": HOST, "kubeflow_node_port": 31390},
    "load-balancer": {"kubeflow_access": "load-balancer", "kubeflow_host": HOST},
    "ingress": {"kubeflow_access": "ingress", "kubeflow_host": HOST, "kubeflow_ingress_class": "nginx"},
}
CERTIFICATES: Mapping[str, dict[str, Any]] = {
    "none": {"kubeflow_secure_cookies": False},
    "self-signed": {"kubeflow_tls": "self-signed"},
    "secret": {"kubeflow_tls": "secret", "kubeflow_tls_secret": "own"},
    "issuer": {"kubeflow_tls": "issuer", "kubeflow_tls_issuer": "acme"},
}
CASES = [("port-forward", ""), *itertools.product(("node-port", "load-balancer", "ingress"), CERTIFICATES)]


def settings_for(upstream: Upstream, way: str, certificate: str) -> Settings:
    return upstream.settings(**WAYS[way], **CERTIFICATES.get(certificate, {}))


def published(upstream: Upstream, way: str, certificate: str) -> dict[Ref, Object]:
    return by_ref(upstream.patched(settings_for(upstream, way, certificate)))


@pytest.fixture(scope="module", params=["1.6.1", "1.9.1", "26.03", "26.03.1"])
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """What the way in changes of each release in turn, and who sets the cookie of a session."""
    return whole_release(request.param).only({*CHANGED, "oauth2-proxy", "oidc-authservice"})


@pytest.mark.parametrize("release", read.releases())
def test_every_release_has_the_components_that_the_way_in_changes(release: str) -> None:
    names = {part.name for part in parse({"kubeflow_release": release, "kubeflow_profile": "full"}).components}
    assert names >= set(CHANGED) - {"models-web-app"}


def cookies_are_secure_where_browsers_use_https(
    upstream: Upstream, after: Mapping[Ref, Object], way: str, certificate: str
) -> None:
    values: dict[str, set[str]] = {"APP_SECURE_COOKIES": set(), "OAUTH2_PROXY_COOKIE_SECURE": set()}
    for obj in after.values():
        if obj["kind"] == "Deployment":
            for item in obj["spec"]["template"]["spec"]["containers"][0].get("env", ()):
                if item["name"] in values:
                    values[item["name"]].add(item.get("value", "upstream's"))
    if way != "port-forward":  # as upstream has them, in 1.6.1 with a placeholder
        assert values["APP_SECURE_COOKIES"] == {"false" if certificate == "none" else "true"}
    secure = "upstream's" if certificate in {"", "none"} else "true"
    assert values["OAUTH2_PROXY_COOKIE_SECURE"] == (set() if upstream.release == "1.6.1" else {secure})


@pytest.mark.upstream
@pytest.mark.parametrize(("way", "certificate"), CASES)
def test_the_service_is_published_and_the_certificate_used(upstream: Upstream, way: str, certificate: str) -> None:
    before, after = by_ref(upstream.parts), published(upstream, way, certificate)
    cookies_are_secure_where_browsers_use_https(upstream, after, way, certificate)
    encrypted = certificate not in {"", "none"}
    names = {(ref.kind, ref.name): obj for ref, obj in after.items()}

    service, given = (
        names["Service", "istio-ingressgateway"],
        Ref("v1", "Service", "istio-system", "istio-ingressgateway"),
    )
    types = {"node-port": "NodePort", "load-balancer": "LoadBalancer"}
    assert service["spec"]["type"] == types.get(way, before[given]["spec"]["type"])
    ports = {item["port"]: item.get("nodePort") for item in service["spec"]["ports"] if item.get("nodePort")}
    assert ports == ({(443 if encrypted else 80): 31390} if way == "node-port" else {})

    secret = {"secret": "own"}.get(certificate, "kubeflow-gateway-tls")
    servers = {item["port"]["number"]: item for item in names["Gateway", "kubeflow-gateway"]["spec"]["servers"]}
    assert servers[80]["port"]["protocol"] == "HTTP"
    if encrypted and way != "ingress":
        assert servers[443]["tls"] == {"mode": "SIMPLE", "credentialName": secret}
    else:
        assert set(servers) == {80}

    ingress = names.get(("Ingress", "kubeflow-gateway"))
    assert (ingress is not None) == (way == "ingress")
    if ingress is not None:
        assert (ingress["metadata"]["namespace"], ingress["spec"]["ingressClassName"]) == ("istio-system", "nginx")
        (rule,) = ingress["spec"]["rules"]
        backend = rule["http"]["paths"][0]["backend"]["service"]
        assert (rule["host"], backend) == (HOST, {"name": "istio-ingressgateway", "port": {"number": 80}})
        assert ingress["spec"].get("tls") == ([{"hosts": [HOST], "secretName": secret}] if encrypted else None)

    made = names.get(("Certificate", "kubeflow-gateway"))
    assert (made is not None) == (certificate in {"self-signed", "issuer"})
    if made is not None:
        assert (made["spec"]["dnsNames"], made["spec"]["secretName"]) == ([HOST], secret)
        own = {"kind": "Issuer", "name": "kubeflow-gateway-self-signed"}
        named = {"kind": "ClusterIssuer", "name": "acme"} if certificate == "issuer" else own
        assert made["spec"]["issuerRef"] == {"group": "cert-manager.io", **named}
        assert (("Issuer", "kubeflow-gateway-self-signed") in names) == (certificate == "self-signed")

    admitted = ("NetworkPolicy", "kubeflow-gateway") in names
    assert admitted == (way != "port-forward" and upstream.release.startswith("26."))


@pytest.mark.upstream
def test_a_forwarded_port_changes_nothing(upstream: Upstream) -> None:
    settings = settings_for(upstream, "port-forward", "")
    for name in CHANGED:
        objects = upstream.parts.get(name, ())
        plain = {Ref.of(obj): obj for obj in objects}
        for obj in patched(objects, name, settings):
            if obj["kind"] in {"Service", "Gateway", "NetworkPolicy", "Deployment"}:
                assert obj["spec"] == plain[Ref.of(obj)]["spec"]
        assert len(plain) == len(objects)


@pytest.mark.upstream
def test_manifests_without_the_gateway_are_refused(upstream: Upstream) -> None:
    settings = settings_for(upstream, "node-port", "self-signed")
    for name, kind in (("istio", "Service"), ("kubeflow-istio-resources", "Gateway")):
        lacking = [obj for obj in upstream.parts[name] if obj["kind"] != kind]
        with pytest.raises(InvalidInput, match=rf"\b{name} .*{kind}"):
            patched(lacking, name, settings)


def test_a_certificate_for_an_address_has_no_names() -> None:
    gateway = new_object(
        "networking.istio.io/v1alpha3", "Gateway", "kubeflow-gateway", "kubeflow", spec={"servers": []}
    )
    asked = {"kubeflow_access": "node-port", "kubeflow_host": "fd00::7", "kubeflow_tls": "self-signed"}
    objects = patched([gateway], "kubeflow-istio-resources", parse({"kubeflow_profile": "full", **asked}))
    (made,) = [obj["spec"] for obj in objects if obj["kind"] == "Certificate"]
    assert made["ipAddresses"] == ["fd00::7"]
    assert "dnsNames" not in made
