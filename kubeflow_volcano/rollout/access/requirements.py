"""What the way in needs of the cluster: judged before the first change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.access.gateway import NAMESPACE, SERVICE
from kubeflow_volcano.rollout.settings.access import GATEWAY, ISTIO, AccessSettings

_INGRESS_CLASS = ("networking.k8s.io/v1", "IngressClass")
_ISSUERS = "cert-manager.io/v1"
_KEYS = ("tls.crt", "tls.key")


def unmet_access(cluster: Cluster, access: AccessSettings, parts: Mapping[str, Sequence[Object]]) -> Iterator[Problem]:
    """Problems of certificate, Ingress and node port of a roll-out of `parts`.

    Raises:
        ApiError: the API server refuses a question.
    """
    if not access.published:
        return
    if GATEWAY in parts:
        if access.tls == "secret":
            yield from _secret(cluster, access)
        if access.tls == "issuer":
            yield from _issuer(cluster, access, parts)
        if access.mode == "ingress":
            yield from _ingress_class(cluster, access)
    if ISTIO in parts and access.node_port:
        yield from _node_port(cluster, access)


def _secret(cluster: Cluster, access: AccessSettings) -> Iterator[Problem]:
    live = cluster.get(Ref("v1", "Secret", NAMESPACE, access.secret))
    missing = [key for key in _KEYS if key not in ((live or {}).get("data") or {})]
    if missing:
        what = "does not exist" if live is None else f"lacks {' and '.join(missing)}"
        yield Problem(
            f"the Secret {NAMESPACE}/{access.secret} of kubeflow_tls_secret {what}.",
            f"a Secret with {' and '.join(_KEYS)} in the namespace of the gateway.",
            f"kubectl create namespace {NAMESPACE} if there is none, then kubectl -n {NAMESPACE} create secret tls "
            f"{access.secret} --cert=FILE --key=FILE; or set kubeflow_tls: self-signed.",
        )


def _issuer(cluster: Cluster, access: AccessSettings, parts: Mapping[str, Sequence[Object]]) -> Iterator[Problem]:
    namespace = NAMESPACE if access.issuer_kind == "Issuer" else ""
    ref = Ref(_ISSUERS, access.issuer_kind, namespace, access.issuer)
    if any(Ref.of(obj) == ref for objects in parts.values() for obj in objects):
        return
    if cluster.get(ref) is None:
        yield Problem(
            f"no {ref} of kubeflow_tls_issuer.",
            "the issuer of the certificate, in cert-manager, before this roll-out.",
            "create it, or correct kubeflow_tls_issuer and kubeflow_tls_issuer_kind. Where this inventory installs "
            "cert-manager, roll out with kubeflow_tls: self-signed first, create the issuer, and run again.",
        )


def _ingress_class(cluster: Cluster, access: AccessSettings) -> Iterator[Problem]:
    names = [obj["metadata"]["name"] for obj in cluster.list(*_INGRESS_CLASS).items]
    if access.ingress_class not in names:
        yield Problem(
            f"kubeflow_ingress_class is {access.ingress_class}, of which the cluster has none.",
            f"an IngressClass of the cluster: {', '.join(sorted(names)) or 'there is none, so no controller either'}.",
            "correct kubeflow_ingress_class, install an ingress controller, or set kubeflow_access: node-port.",
        )


def _node_port(cluster: Cluster, access: AccessSettings) -> Iterator[Problem]:
    for service in cluster.list("v1", "Service").items:
        ref = Ref("v1", "Service", service["metadata"]["namespace"], service["metadata"]["name"])
        taken = {item.get("nodePort") for item in service["spec"].get("ports") or ()}
        taken.add(service["spec"].get("healthCheckNodePort"))
        if access.node_port in taken and ref != SERVICE:
            yield Problem(
                f"kubeflow_node_port is {access.node_port}, which {ref} has.",
                "a node port that no other Service has.",
                "choose another kubeflow_node_port, or 0 to let Kubernetes choose.",
            )
