"""Manifests of the gateway with the way in that the inventory names. Pure; `port-forward` changes nothing.

One layout for all releases: Istio's Service `istio-ingressgateway` and Kubeflow's Gateway, which upstream gives port 80
only. The gateway ends TLS itself, except behind an Ingress, whose controller does.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object, Ref, named, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.access import OWN_CERTIFICATE, AccessSettings

NAMESPACE = "istio-system"
SERVICE = Ref("v1", "Service", NAMESPACE, "istio-ingressgateway")

SELF_SIGNING = "kubeflow-gateway-self-signed"
"""Issuer of the certificate with `kubeflow_tls: self-signed`. Own, as not every release has one in each selection."""

_NAME = "kubeflow-gateway"
INGRESS = Ref("networking.k8s.io/v1", "Ingress", NAMESPACE, _NAME)
_LONGEST_COMMON_NAME = 64
"""RFC 5280, ub-common-name."""

_TYPES = {"node-port": "NodePort", "load-balancer": "LoadBalancer"}
_HTTP, _HTTPS = 80, 443
_POD_PORTS = (8080, 8443)
"""Where the pods of the gateway serve ports 80 and 443 of the Service."""


def publish(objects: list[Object], access: AccessSettings) -> None:
    """Give the gateway's Service the type that publishes it, and the node port if the inventory names one.

    Raises:
        InvalidInput: the manifests lack the Service or its port.
    """
    if access.mode not in _TYPES:
        return
    service = named(objects, SERVICE.kind, SERVICE.name)
    number = _HTTPS if access.encrypted else _HTTP
    ports = [item for item in (service or {}).get("spec", {}).get("ports", ()) if item["port"] == number]
    if service is None or not ports:
        raise InvalidInput.problem(
            f"the manifests of istio have no {SERVICE} with port {number}.",
            f"the Service that kubeflow_access: {access.mode} publishes.",
            "correct kubeflow_source or kubeflow_sources.istio, or set kubeflow_access: port-forward.",
        )
    service["spec"]["type"] = _TYPES[access.mode]
    if access.node_port:
        ports[0]["nodePort"] = access.node_port


def serve(objects: list[Object], access: AccessSettings) -> None:
    """Add the certificate, and where it is used: a server of Kubeflow's Gateway, or an Ingress.

    Raises:
        InvalidInput: the manifests lack Kubeflow's Gateway.
    """
    if access.issued:
        objects.extend(_certificate(access))
    if access.mode == "ingress":
        objects.append(_ingress(access))
    elif access.encrypted:
        gateway = named(objects, "Gateway", _NAME)
        if gateway is None:
            raise InvalidInput.problem(
                f"the manifests of kubeflow-istio-resources have no Gateway {_NAME}.",
                "the Gateway that gets the certificate.",
                "correct kubeflow_source or kubeflow_sources.kubeflow-istio-resources.",
            )
        others = [item for item in gateway["spec"]["servers"] if item["port"]["number"] != _HTTPS]
        server = {
            "port": {"number": _HTTPS, "name": "https", "protocol": "HTTPS"},
            "hosts": ["*"],
            "tls": {"mode": "SIMPLE", "credentialName": access.certificate},
        }
        gateway["spec"]["servers"] = [*others, server]


def admit_traffic(objects: list[Object], access: AccessSettings) -> None:
    """Let clients reach the gateway where upstream's network policies isolate its namespace, as in 26.03.

    Where no policy selects the gateway, a policy of ours would be the first to isolate it.
    """
    if access.published and any(obj["kind"] == "NetworkPolicy" for obj in objects):
        ports = [{"protocol": "TCP", "port": port} for port in _POD_PORTS]
        spec = {
            "podSelector": {"matchLabels": {"app": SERVICE.name, "istio": "ingressgateway"}},
            "ingress": [{"ports": ports}],
            "policyTypes": ["Ingress"],
        }
        objects.append(new_object("networking.k8s.io/v1", "NetworkPolicy", _NAME, NAMESPACE, spec=spec))


def _certificate(access: AccessSettings) -> Iterable[Object]:
    """The Certificate for the host, and the Issuer of one that signs itself."""
    issuer = {"kind": access.issuer_kind, "name": access.issuer}
    if access.tls == "self-signed":
        issuer = {"kind": "Issuer", "name": SELF_SIGNING}
        yield new_object("cert-manager.io/v1", "Issuer", SELF_SIGNING, NAMESPACE, spec={"selfSigned": {}})
    spec: Object = {
        "secretName": OWN_CERTIFICATE,
        "issuerRef": {"group": "cert-manager.io", **issuer},
        "usages": ["digital signature", "key encipherment", "server auth"],
    }
    spec["ipAddresses" if access.address else "dnsNames"] = [access.host]
    if access.tls == "self-signed" and len(access.host) <= _LONGEST_COMMON_NAME:
        spec["commonName"] = access.host  # without a subject, some clients refuse a certificate that signs itself
    yield new_object("cert-manager.io/v1", "Certificate", _NAME, NAMESPACE, spec=spec)


def _ingress(access: AccessSettings) -> Object:
    backend = {"service": {"name": SERVICE.name, "port": {"number": _HTTP}}}
    spec: Object = {
        "ingressClassName": access.ingress_class,
        "rules": [
            {"host": access.host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}},
        ],
    }
    if access.encrypted:
        spec["tls"] = [{"hosts": [access.host], "secretName": access.certificate}]
    return new_object(INGRESS.api_version, INGRESS.kind, _NAME, NAMESPACE, spec=spec)
