"""What people wrote into Dex's configuration on the cluster, which a run would remove without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, named
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.account.sign_in import HASH_KEY, UPSTREAM_EMAIL
from kubeflow_volcano.rollout.people.connectors import CONFIG, MADE
from kubeflow_volcano.rollout.settings.people.connectors import DEX

__all__ = ["LIVE", "configuration", "foreign_connectors", "foreign_users", "leaving_users"]

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


def foreign_users(cluster: Cluster, parts: Mapping[str, Sequence[Object]]) -> Iterator[Problem]:
    """Users with a password that neither the manifests have nor an earlier inventory had.

    Raises:
        ApiError: the API server refuses the question.
    """
    if others := [email for email, ours in _leaving(cluster, parts).items() if not ours]:
        yield Problem(
            f"Dex's configuration on the cluster has the user {', '.join(others)}, and this inventory has not.",
            "every user in kubeflow_users: a roll-out replaces Dex's configuration.",
            "add it to kubeflow_users; its hash in the configuration is a password_hash there. Or, to give it up, "
            f"remove it with kubectl -n {LIVE.namespace} edit configmap {LIVE.name}.",
        )


def leaving_users(cluster: Cluster, parts: Mapping[str, Sequence[Object]]) -> list[str]:
    """Users of an earlier inventory who can no longer sign in after the run.

    Raises:
        ApiError: the API server refuses the question.
    """
    return [email for email, ours in _leaving(cluster, parts).items() if ours]


def _leaving(cluster: Cluster, parts: Mapping[str, Sequence[Object]]) -> dict[str, bool]:
    """Whether a roll-out made them, by the e-mail addresses of users that are on the cluster and are not declared.

    Roll-outs write the hash into the environment, under a name of their own.
    """
    declared = named(parts.get(DEX, ()), "ConfigMap", DEX)
    live = cluster.get(LIVE) if declared else None
    if not declared or not live:
        return {}
    known = {str(item["email"]).lower() for item in _users(declared)} | {UPSTREAM_EMAIL}
    return {
        str(item["email"]): str(item.get("hashFromEnv", "")).startswith(HASH_KEY)
        for item in _users(live)
        if str(item["email"]).lower() not in known
    }


def configuration(config_map: Object) -> Mapping[str, Any]:
    """Dex's configuration in its ConfigMap; empty if it cannot be parsed, which Dex cannot do either."""
    try:
        found = strict_yaml.parse((config_map.get("data") or {}).get(CONFIG, "").encode(), f"{CONFIG} of Dex")
    except InvalidInput:
        return {}
    return found[0] if found and isinstance(found[0], Mapping) else {}


def _ids(config_map: Object) -> Collection[str]:
    return [str(item["id"]) for item in _entries(config_map, "connectors") if item.get("id")]


def _users(config_map: Object) -> Collection[Mapping[str, Any]]:
    return [item for item in _entries(config_map, "staticPasswords") if item.get("email")]


def _entries(config_map: Object, key: str) -> Iterator[Mapping[str, Any]]:
    entries = configuration(config_map).get(key)
    yield from (item for item in (entries if isinstance(entries, list) else ()) if isinstance(item, Mapping))
