"""Clusters on which people sign in through another identity provider."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import yaml

from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.recorded.foreign.authorities import issued, pem
from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import obj, profile

_DEX = Ref("v1", "ConfigMap", "auth", "dex")
_PEOPLE = {"ada": "ada@example.org", "grace": "grace@example.org", "team-vision": "katherine@example.org"}
_COMPONENTS = (
    *("cert-manager", "istio", "dex", "oauth2-proxy", "profiles", "user-namespace", "training-operator"),
    *("volcano", "local-path"),
)
_HASH = "$2b$12$jVSv6yRX5ZbRVJbZbZ4Mle3N1Cj8zqHsmsF0k7mS2mDs7QmU1kq1e"


def single_sign_on(make: Making) -> None:
    """Dex hands people on to a company's provider; an administrator alone has a password. Profiles are people's own."""
    live = make.cluster.get(_DEX) or {}
    config = yaml.safe_load(live["data"]["config.yaml"])
    config["connectors"] = [
        {"type": "oidc", "id": "company", "name": "Company", "config": {"issuer": "https://sso.example.org"}}
    ]
    config["staticPasswords"] = [{"email": "root@example.org", "hash": _HASH, "username": "root"}]
    make.change(_DEX, {"data": {"config.yaml": yaml.safe_dump(config)}})
    make.without(APPLIED_OBJECTS)  # this project rolled nothing out there
    for item in make.cluster.list("kubeflow.org/v1", "Profile").items:
        make.without(Ref.of(item))
    for name, owner in _PEOPLE.items():
        spec = {"owner": {"kind": "User", "name": owner}}
        make.apply(obj("kubeflow.org/v1", "Profile", name, spec=spec), profile(name, owner))
    _certificate(make)


def _certificate(make: Making) -> None:
    """A certificate of the gateway, from a company's authority through its own issuer."""
    root = issued("Example Root CA", None)
    middle = issued("Example Issuing CA 7", root)
    leaf = issued("kubeflow.example.org", middle, ("kubeflow.example.org",))
    data = {"tls.crt": pem(leaf[0], middle[0]), "tls.key": b"none", "ca.crt": pem(root[0])}
    encoded = {name: base64.b64encode(text).decode() for name, text in data.items()}
    times = {"notBefore": leaf[0].not_valid_before_utc, "notAfter": leaf[0].not_valid_after_utc}
    valid = {name: f"{moment:%Y-%m-%dT%H:%M:%SZ}" for name, moment in times.items()}
    issuer = {"name": "company", "kind": "ClusterIssuer"}
    spec = {"secretName": "gateway-tls", "dnsNames": ["kubeflow.example.org"], "issuerRef": issuer}
    make.apply(
        obj("v1", "Secret", "istio-system/gateway-tls", type="Opaque", data=encoded),
        obj("cert-manager.io/v1", "ClusterIssuer", "company", spec={"ca": {"secretName": "company"}}, status=_ready()),
        obj("cert-manager.io/v1", "Certificate", "istio-system/gateway-tls", spec=spec, status=_ready() | valid),
    )


def _ready() -> Object:
    at = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1, "lastTransitionTime": at}]}


RECIPES = {
    "single-sign-on": Recipe(
        "Istio, Dex and oauth2-proxy with a company's OIDC provider as Dex's connector, one administrator with a "
        "password, profiles of people whom Dex does not know, a certificate from the company's issuing authority.",
        "Kubeflow 1.9.1's manifests of these components; their pods run on nodes without a machine, their webhooks are "
        "answered by a stub, and cert-manager's conditions are written by hand;",
        single_sign_on,
        {"profile": _COMPONENTS},
    ),
}
