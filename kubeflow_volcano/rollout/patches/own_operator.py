"""The training operator from its own source, as upstream's distribution had it in its last releases."""

from __future__ import annotations

from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import Object, new_object

_POLICY = "training-operator-api-server"
_METRICS, _WEBHOOK = 8080, 9443


def fit_into_distribution(objects: list[Object]) -> None:
    """Let its pod pass Pod Security level restricted, and the API server reach its webhook, in namespace kubeflow.

    Upstream's tree has neither: applications/training-operator and common/kubeflow-namespace of
    kubeflow/community-distribution 26.03 enforce that level, and admit only traffic from the namespace to all others.
    """
    for obj in [obj for obj in objects if obj["kind"] == "Deployment" and obj["metadata"]["name"] == COMPONENT]:
        pod = obj["spec"]["template"]["spec"]
        pod.setdefault("securityContext", {}).setdefault("seccompProfile", {"type": "RuntimeDefault"})
        for container in pod["containers"]:
            context = container.setdefault("securityContext", {})
            context.setdefault("allowPrivilegeEscalation", False)
            context.setdefault("capabilities", {"drop": ["ALL"]})
            context.setdefault("runAsNonRoot", True)
            context.setdefault("runAsUser", 1000)
        objects.append(_policy(obj))


def _policy(deployment: Object) -> Object:
    """A policy refuses all ports that it does not name, so it names that of the metrics, too."""
    spec = {
        "podSelector": {"matchLabels": dict(deployment["spec"]["selector"]["matchLabels"])},
        "ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in (_METRICS, _WEBHOOK)]}],
        "policyTypes": ["Ingress"],
    }
    namespace = deployment["metadata"]["namespace"]
    return new_object("networking.k8s.io/v1", "NetworkPolicy", _POLICY, namespace, spec=spec)
