"""Nodes that are not Ready, as causes of trouble with the pods on them."""

from __future__ import annotations

from functools import lru_cache

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from validators.core.facts import Facts
from validators.core.resources import NODES

__all__ = ["LOST_TAINTS", "nodes_down", "nodes_of"]

LOST_TAINTS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
"""Taints of the node lifecycle controller on nodes whose kubelet reports nothing, or that it is not ready."""


@lru_cache(maxsize=4)
def nodes_down(facts: Facts) -> frozenset[Ref]:
    """Nodes whose condition Ready is not True, as far as nodes were read."""
    return frozenset(
        Ref("v1", "Node", "", item["metadata"]["name"])
        for item in facts.objects.get(NODES, ())
        if conditions(item).get("Ready", {}).get("status") != "True"
    )


def nodes_of(pods: tuple[Object, ...], facts: Facts) -> frozenset[Ref]:
    """The nodes of these pods that are down; none where no pod is on such a node."""
    named = {Ref("v1", "Node", "", pod["spec"].get("nodeName", "")) for pod in pods}
    return nodes_down(facts) & named
