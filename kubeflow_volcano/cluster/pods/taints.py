"""Taints of nodes: which of them keep pods away, which pods tolerate them, and who sets them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from kubeflow_volcano.cluster.objects import Object

_BLOCKING = frozenset({"NoSchedule", "NoExecute"})
_CONTROL_PLANE = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
# kubernetes.io, "Well-Known Labels, Annotations and Taints"; cluster-autoscaler, FAQ; karpenter.sh, "Disruption" and
# "NodePools" (startup taints); Cluster API, "Bootstrap"; Cilium, "Considerations on Node Pool Taints".
_CONTROLLER = re.compile(
    r"agent-not-ready$|/uninitialized$|^karpenter\.sh/|^ToBeDeletedByClusterAutoscaler$"
    r"|^startup-taint\.cluster-autoscaler\.kubernetes\.io/|^(status|ignore)-taint\.cluster-autoscaler\.kubernetes\.io/"
)
_ACCELERATOR = re.compile(r"(^|[./-])(gpu|npu|tpu|dcu|ascend)([./-]|$)|accelerator", re.IGNORECASE)


class Setter(StrEnum):
    """Who sets a taint, and with that, who has to remove it."""

    KUBERNETES = "Kubernetes"
    """It mirrors a condition of the node, and Kubernetes removes it with the condition."""
    CLOUD = "the cloud provider's controller"
    CONTROL_PLANE = "kubeadm"
    ACCELERATOR = "GPU nodes"
    """It reserves nodes for pods that request a GPU or another accelerator."""
    CONTROLLER = "a controller"
    """A controller sets and removes it as the node comes and goes."""
    OTHER = "other"


def setter_of(key: str) -> Setter:
    """Who sets taints with this key."""
    if key.startswith("node.kubernetes.io/"):
        return Setter.KUBERNETES
    if key.startswith("node.cloudprovider.kubernetes.io/"):
        return Setter.CLOUD
    if key in _CONTROL_PLANE:
        return Setter.CONTROL_PLANE
    if _CONTROLLER.search(key):
        return Setter.CONTROLLER
    return Setter.ACCELERATOR if _ACCELERATOR.search(key) else Setter.OTHER


def blocking(node: Object) -> list[Object]:
    """The node's taints that keep pods away which do not tolerate them."""
    return [item for item in node["spec"].get("taints") or () if item.get("effect") in _BLOCKING]


def taint_text(taint: Object) -> str:
    """As kubectl writes it: `key=value:effect`."""
    value = taint.get("value") or ""
    return f"{taint['key']}{'=' if value else ''}{value}:{taint['effect']}"


def untolerated(pod_spec: Object, taints: Iterable[Object]) -> list[Object]:
    """Taints that keep a pod with this spec away."""
    tolerations = pod_spec.get("tolerations") or ()
    return [
        taint
        for taint in taints
        if taint["effect"] in _BLOCKING and not any(_tolerates(item, taint) for item in tolerations)
    ]


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in {None, "", taint["key"]}
    return toleration.get("key") == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or "")
