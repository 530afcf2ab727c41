"""The directory of volumes on each node, from what the inventory says about hosts and about nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.per_host import node_name

__all__ = ["contradictions", "node_paths"]

_BASE, _PATHS = "local_path_base_directory", "local_path_node_paths"


def node_paths(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Directory by Node, of those hosts whose variables name one, and of nodes that the inventory names itself.

    Args:
        cluster: variables that the inventory has for localhost.
        hosts: the same of every other host of the inventory, by its name there.
    """
    found = {node_name(host, own): own[_BASE] for host, own in hosts.items() if own.get(_BASE)}
    common = cluster.get(_BASE)
    return {node: path for node, path in found.items() if path != common} | dict(cluster.get(_PATHS) or {})


def contradictions(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Nodes for which the two say different things; values of a wrong type are left to the settings' schema."""
    given = cluster.get(_PATHS)
    for host, own in hosts.items():
        node = node_name(host, own)
        other = given.get(node) if isinstance(given, Mapping) else None
        if other and own.get(_BASE, other) != other:
            yield Problem(
                f"{_BASE} of {host} is {own[_BASE]}, and {_PATHS}.{node} is {other}.",
                "one directory for the volumes of a node.",
                f"remove {_PATHS}.{node}; it is for nodes that are no hosts of the inventory.",
            )
