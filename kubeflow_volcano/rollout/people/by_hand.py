"""What people wrote into Dex's configuration on the cluster, which a run would remove without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, named
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.people.connectors import CONFIG, MADE
from kubeflow_volcano.rollout.settings.people.connectors import DEX

__all__ = ["LIVE", "configuration", "foreign_connectors"]

LIVE = Ref("v1", "ConfigMap", "auth", DEX)
"""Dex's configuration on the cluster."""


def foreign_connectors(cluster: Cluster, parts: Mapping[str, Sequence[Object]]) -> Iterator[Problem]:
    """Connectors that neither the manifests have nor an earlier inventory had.

    Raises:
        ApiError: the API server refuses the question.
    """
    declared = named(parts.get(DEX, ()), "ConfigMap", DEX)
    live = cluster.get(LIVE) if declared else None
    if not declared or not live:
        return
    ours = (live["metadata"].get("annotations") or {}).get(MADE, "").split()
    known = {*_ids(declared), *ours}
    if others := [name for name in _ids(live) if name not in known]:
        yield Problem(
            f"Dex's configuration on the cluster has the connector {', '.join(others)}, and this inventory has not.",
            "every connector in kubeflow_connectors: a roll-out replaces Dex's configuration.",
            "add it to kubeflow_connectors, with its secrets from a vault; or, to give it up, remove it with "
            f"kubectl -n {LIVE.namespace} edit configmap {LIVE.name}.",
        )


def configuration(config_map: Object) -> Mapping[str, Any]:
    """Dex's configuration in its ConfigMap; empty if it cannot be parsed, which Dex cannot do either."""
    try:
        found = strict_yaml.parse((config_map.get("data") or {}).get(CONFIG, "").encode(), f"{CONFIG} of Dex")
    except InvalidInput:
        return {}
    return found[0] if found and isinstance(found[0], Mapping) else {}


def _ids(config_map: Object) -> Collection[str]:
    entries = configuration(config_map).get("connectors")
    items = entries if isinstance(entries, list) else []
    return [str(item["id"]) for item in items if isinstance(item, Mapping) and item.get("id")]
