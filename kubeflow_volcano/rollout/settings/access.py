"""How browsers reach Kubeflow: by a forwarded port, or at an address with a certificate."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated

from kubeflow_volcano.decode import Key
from kubeflow_volcano.problems import Problem

ISTIO = "istio"
"""Component with the Service of the gateway."""

GATEWAY = "kubeflow-istio-resources"
"""Component with Kubeflow's Gateway."""

OWN_CERTIFICATE = "kubeflow-gateway-tls"
"""Secret of the certificate that cert-manager issues for `kubeflow_tls: self-signed` and `issuer`."""

_CERT_MANAGER = "cert-manager"
_NODE_PORTS = range(30000, 32768)
"""The API server's default --service-node-port-range."""


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """The way in. `host` is a DNS name or an IP address; `node_port` 0 lets Kubernetes choose."""

    mode: Annotated[str, Key("kubeflow_access")]
    host: Annotated[str, Key("kubeflow_host")]
    tls: Annotated[str, Key("kubeflow_tls")]
    secret: Annotated[str, Key("kubeflow_tls_secret")]
    issuer: Annotated[str, Key("kubeflow_tls_issuer")]
    issuer_kind: Annotated[str, Key("kubeflow_tls_issuer_kind")]
    node_port: Annotated[int, Key("kubeflow_node_port")]
    ingress_class: Annotated[str, Key("kubeflow_ingress_class")]
    secure_cookies: Annotated[bool, Key("kubeflow_secure_cookies")]

    @property
    def published(self) -> bool:
        """Whether others than the owner of a kubeconfig reach the gateway."""
        return self.mode != "port-forward"

    @property
    def encrypted(self) -> bool:
        """Whether browsers use https."""
        return self.published and self.tls != "none"

    @property
    def issued(self) -> bool:
        """Whether cert-manager issues the certificate."""
        return self.encrypted and self.tls in {"self-signed", "issuer"}

    @property
    def certificate(self) -> str:
        """Name of the Secret with the certificate; it is in the namespace of the gateway's pods."""
        return OWN_CERTIFICATE if self.issued else self.secret

    @property
    def url(self) -> str:
        """Scheme, host and port that browsers use, without a slash at the end; empty where the cluster chooses them."""
        if not self.published or not self.host or (self.mode == "node-port" and not self.node_port):
            return ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.node_port}" if self.mode == "node-port" else ""
        return f"{'https' if self.encrypted else 'http'}://{host}{port}"

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The host, if it is an IP address."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def validate_access(access: AccessSettings, chosen: Collection[str], existing: Collection[str]) -> Iterator[Problem]:
    """Problems of the way in with these components, of which others installed those in `existing`.

    Browsers keep Secure cookies for https and localhost only, and the applications of the dashboard refuse every form
    without their cookie: kubeflow/kubeflow#5803.
    """
    yield from _unused(access)
    if not access.published:
        return
    if access.tls == "none" and access.secure_cookies:
        yield Problem(
            f"kubeflow_access is {access.mode}, and kubeflow_tls is none.",
            "https: the dashboard's applications set Secure cookies, which browsers drop over plain http, so that "
            "no notebook can be created (kubeflow/kubeflow#5803).",
            "set kubeflow_tls: self-signed, secret or issuer; on a trusted network kubeflow_secure_cookies: false "
            "makes plain http work, with passwords that anyone on the way can read.",
        )
    yield from _missing(access)
    yield from _missing_components(access, chosen, existing)


def _unused(access: AccessSettings) -> Iterator[Problem]:
    """Variables that the chosen way in does not read."""
    tls = "" if access.tls == "none" else access.tls
    published = "kubeflow_access: node-port, load-balancer or ingress"
    needs: tuple[tuple[str, object, bool, str], ...] = (
        ("kubeflow_host", access.host, access.published, published),
        ("kubeflow_tls", tls, access.published, published),
        ("kubeflow_tls_secret", access.secret, access.tls == "secret", "kubeflow_tls: secret"),
        ("kubeflow_tls_issuer", access.issuer, access.tls == "issuer", "kubeflow_tls: issuer"),
        ("kubeflow_node_port", access.node_port, access.mode == "node-port", "kubeflow_access: node-port"),
        ("kubeflow_ingress_class", access.ingress_class, access.mode == "ingress", "kubeflow_access: ingress"),
    )
    for variable, value, used, needed in needs:
        if value and not used:
            yield Problem(
                f"{variable} is {value}, and nothing reads it.",
                f"{needed}, which reads {variable}.",
                f"set {needed}, or remove {variable}.",
            )


def _missing(access: AccessSettings) -> Iterator[Problem]:
    """Variables without which the chosen way in does not work."""
    if not access.host and (access.mode != "load-balancer" or access.issued):
        what = "a certificate is for a name" if access.mode == "load-balancer" else "browsers need an address"
        yield Problem(
            f"kubeflow_access is {access.mode}, and kubeflow_host is empty.",
            f"the DNS name{'' if access.mode == 'ingress' else ' or IP address'} that browsers use: {what}.",
            "set kubeflow_host.",
        )
    if access.mode == "ingress":
        if access.address:
            yield Problem(
                f"kubeflow_host is {access.host}, and kubeflow_access is ingress.",
                "a DNS name: Ingress objects accept no IP address.",
                "set kubeflow_host to a name, or kubeflow_access: node-port.",
            )
        if not access.ingress_class:
            yield Problem(
                "kubeflow_access is ingress, and kubeflow_ingress_class is empty.",
                "the IngressClass whose controller serves the Ingress.",
                "set kubeflow_ingress_class to one that kubectl get ingressclass lists.",
            )
    if access.node_port and access.node_port not in _NODE_PORTS:
        yield Problem(
            f"kubeflow_node_port is {access.node_port}.",
            f"0, or a port from {_NODE_PORTS[0]} to {_NODE_PORTS[-1]}.",
            "choose such a port, or 0 to let Kubernetes choose.",
        )
    if access.tls == "secret" and not access.secret:
        yield Problem(
            "kubeflow_tls is secret, and kubeflow_tls_secret is empty.",
            "a Secret of type kubernetes.io/tls in istio-system.",
            "set kubeflow_tls_secret to its name.",
        )
    if access.tls == "issuer" and not access.issuer:
        yield Problem(
            "kubeflow_tls is issuer, and kubeflow_tls_issuer is empty.",
            "an issuer of cert-manager.",
            "set kubeflow_tls_issuer to its name, and kubeflow_tls_issuer_kind.",
        )


def _missing_components(
    access: AccessSettings, chosen: Collection[str], existing: Collection[str]
) -> Iterator[Problem]:
    changed = [GATEWAY] if access.mode == "ingress" else [ISTIO, GATEWAY]
    if without := [name for name in changed if name not in chosen]:
        yield Problem(
            f"kubeflow_access is {access.mode}, and {' and '.join(without)} "
            f"{'are' if len(without) > 1 else 'is'} not installed by this inventory.",
            "the gateway that it publishes.",
            "set kubeflow_profile: full, add them to kubeflow_components, or remove kubeflow_access.",
        )
    if access.issued and _CERT_MANAGER not in {*chosen, *existing}:
        yield Problem(
            f"kubeflow_tls is {access.tls}, and {_CERT_MANAGER} is not chosen.",
            "cert-manager, which issues the certificate.",
            "add cert-manager to kubeflow_components, or to kubeflow_existing if others installed it; "
            "kubeflow_tls: secret needs none.",
        )
