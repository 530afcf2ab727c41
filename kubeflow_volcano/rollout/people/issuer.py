"""What an issuer of Dex at the address of browsers changes for those who check its tokens. Pure.

| release | who checks | where it reads keys |
|---|---|---|
| to 1.8 | the OIDC AuthService of arrikto | at the issuer, in Go's net/http (`oidc.NewProvider`) |
| from 1.9 | oauth2-proxy | `oidc_jwks_url`, inside the cluster (`skip_oidc_discovery`) |
| from 1.9 | the gateway, by a RequestAuthentication | at the issuer, unless `jwksUri` says where |
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import annotate
from kubeflow_volcano.rollout.settings.access import AccessSettings
from kubeflow_volcano.rollout.settings.people.connectors import Connector, public_issuer

_ANNOTATION = "kubeflow-volcano/issuer"
"""Of pod templates: these programs read the issuer only at their start."""

_INSIDE = "http://dex.auth.svc.cluster.local:5556/dex"
"""Upstream's issuer, in every release; Dex answers there whatever its issuer is."""

_PROXY = re.compile(r'(?m)^(oidc_issuer_url\s*=\s*)"[^"]*"')
_PROVIDER = "OIDC_PROVIDER"
_AUTH_SERVICES = frozenset({"authservice", "oidc-authservice"})
"""Names of its workload, the second one in 1.8."""

_TRUSTED = "/etc/kubeflow-gateway"
_CERTIFICATES = ("ca.crt", "tls.crt")
"""Keys of the gateway's Secret that the AuthService trusts: the authority, or a certificate that signs itself."""


def follow_issuer(objects: list[Object], connectors: Sequence[Connector], access: AccessSettings) -> None:
    """Let the service in front of Dex and the gateway accept tokens of its issuer, if that is the browsers' address.

    Raises:
        InvalidInput: the manifests do not say where the service has the issuer.
    """
    issuer = public_issuer(connectors, access)
    if not issuer:
        return
    for obj in objects:
        if obj["kind"] == "RequestAuthentication":
            _accept(obj, issuer)
    named = [_configure(obj, issuer) for obj in objects if obj["kind"] == "ConfigMap"]
    if not any(named):
        raise InvalidInput.problem(
            "the manifests of the service in front of Dex do not name Dex's issuer.",
            f"oidc_issuer_url of oauth2-proxy, or {_PROVIDER} of the OIDC AuthService.",
            "correct kubeflow_source or kubeflow_sources, or use connectors with a password form only, as ldap.",
        )
    for obj in (obj for obj in objects if obj["kind"] in {"Deployment", "StatefulSet"}):
        annotate(obj["spec"]["template"].setdefault("metadata", {}), _ANNOTATION, issuer)
        if obj["metadata"]["name"] in _AUTH_SERVICES and access.encrypted:
            _trust(obj["spec"]["template"]["spec"], access.certificate)


def _accept(authentication: Object, issuer: str) -> None:
    """Tokens of that issuer in place of upstream's; Istio reads the keys inside the cluster."""
    for rule in authentication["spec"].get("jwtRules") or ():
        if rule["issuer"] == _INSIDE:
            rule |= {"issuer": issuer, "jwksUri": f"{_INSIDE}/keys"}


def _configure(config_map: Object, issuer: str) -> bool:
    """Set the issuer, in the form of the program that reads it; whether there was one."""
    data = config_map.get("data") or {}
    if _PROVIDER in data:
        data[_PROVIDER] = issuer
        return True
    changed = {key: _PROXY.sub(lambda found: f'{found[1]}"{issuer}"', text) for key, text in data.items()}
    has_proxy = any(_PROXY.search(text) for text in data.values())
    data |= changed
    return has_proxy


def _trust(pod: Object, secret: str) -> None:
    """Mount the certificates of the gateway where Go looks for further authorities."""
    items = [{"key": key, "path": key} for key in _CERTIFICATES]
    sources = [{"secret": {"name": secret, "optional": True, "items": [item]}} for item in items]
    pod.setdefault("volumes", []).append({"name": "gateway", "projected": {"sources": sources}})
    container = pod["containers"][0]
    container.setdefault("volumeMounts", []).append({"name": "gateway", "mountPath": _TRUSTED, "readOnly": True})
    container.setdefault("env", []).append({"name": "SSL_CERT_DIR", "value": _TRUSTED})
