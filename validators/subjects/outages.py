"""Nodes that are not Ready, as causes of trouble with the pods on them and with those that no other node takes."""

from __future__ import annotations

from functools import lru_cache

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import NODES

LOST = tuple(Ref("v1", "Taint", "", f"node.kubernetes.io/{name}") for name in ("not-ready", "unreachable"))
"""Taints of the node lifecycle controller on nodes that are not Ready: what these nodes break."""


@lru_cache(maxsize=4)
def _nodes_down(facts: Facts) -> frozenset[Ref]:
    """Nodes whose condition Ready is not True, as far as nodes were read."""
    return frozenset(
        Ref("v1", "Node", "", item["metadata"]["name"])
        for item in facts.objects.get(NODES, ())
        if conditions(item).get("Ready", {}).get("status") != "True"
    )


def taints_in(text: str) -> frozenset[Ref]:
    """Those of `LOST` that a message of the scheduler names."""
    return frozenset(taint for taint in LOST if taint.name in text)


def nodes_of(pods: tuple[Object, ...], facts: Facts) -> frozenset[Ref]:
    """The nodes of these pods that are down; none where no pod is on such a node."""
    named = {Ref("v1", "Node", "", pod["spec"].get("nodeName", "")) for pod in pods}
    return _nodes_down(facts) & named
