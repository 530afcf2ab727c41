"""NetworkPolicies that may keep the API server from the pods behind a Service."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping

from kubeflow_volcano.cluster.admission.webhooks import selects
from kubeflow_volcano.cluster.objects import Object, Ref

_API = "networking.k8s.io/v1"


def keeping_out(policies: Iterable[Object], service: Object, pods: Iterable[Object]) -> tuple[Ref, ...]:
    """The policies that select a pod of the Service, if none of them admits more to its ports than other pods.

    Ports are those of all rules together, and an address block is taken for one with the API server in it. Some network
    plugins let a node reach its own pods all the same, so that a policy found here need not be the cause.
    """
    labels = [pod["metadata"].get("labels") or {} for pod in _of(service, pods)]
    on_pods = [
        item
        for item in policies
        if "Ingress" in (item["spec"].get("policyTypes") or ("Ingress",))
        and any(selects(item["spec"].get("podSelector"), own) for own in labels)
    ]
    if any(_admits(rule) for item in on_pods for rule in item["spec"].get("ingress") or ()):
        return ()
    return tuple(Ref.of(item) for item in on_pods)


def allowing(service: Object) -> str:
    """The command that admits every address to the pods of the Service at its ports, beside all other policies."""
    meta, spec = service["metadata"], service["spec"]
    ports = [
        {"port": item.get("targetPort") or item["port"], "protocol": item.get("protocol", "TCP")}
        for item in spec.get("ports") or ()
    ]
    wanted = {"podSelector": {"matchLabels": spec["selector"]}, "policyTypes": ["Ingress"]}
    own = {"name": f"{meta['name']}-from-api-server", "namespace": meta["namespace"]}
    policy = {
        "apiVersion": _API,
        "kind": "NetworkPolicy",
        "metadata": own,
        "spec": {**wanted, "ingress": [{"ports": ports}]},
    }
    return f"echo {shlex.quote(json.dumps(policy))} | kubectl apply -f -"


def _of(service: Object, pods: Iterable[Object]) -> list[Object]:
    selector: Mapping[str, str] = service["spec"].get("selector") or {}
    where = service["metadata"]["namespace"]
    return [
        pod
        for pod in pods
        if selector
        and pod["metadata"]["namespace"] == where
        and selector.items() <= (pod["metadata"].get("labels") or {}).items()
    ]


def _admits(rule: Object) -> bool:
    return not rule.get("from") or any("ipBlock" in peer for peer in rule["from"])
