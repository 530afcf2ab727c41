"""What people wrote into Dex's configuration on the cluster, which a run would remove without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, named
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.account.sign_in import CONFIG, HASH_KEY, UPSTREAM_EMAIL
from kubeflow_volcano.rollout.people.connectors import MADE
from kubeflow_volcano.rollout.settings.people.connectors import DEX

LIVE = Ref("v1", "ConfigMap", "auth", DEX)
"""Dex's configuration on the cluster."""


@dataclass(frozen=True, slots=True)
class Undeclared:
    """What Dex's configuration on the cluster has, and the declared one has not.

    `connectors` and `users` are of people: ids and e-mail addresses. `leaving_users` are of an earlier inventory.
    """

    connectors: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    leaving_users: tuple[str, ...] = ()

    def problems(self) -> Iterator[Problem]:
        """What people added, which the run would remove."""
        edit = f"kubectl -n {LIVE.namespace} edit configmap {LIVE.name}"
        if self.connectors:
            yield Problem(
                f"Dex's configuration on the cluster has the connector {', '.join(self.connectors)}, and this "
                "inventory has not.",
                "every connector in kubeflow_connectors: a roll-out replaces Dex's configuration.",
                "add it to kubeflow_connectors, with its secrets from a vault; or, to give it up, remove it with "
                f"{edit}.",
            )
        if self.users:
            yield Problem(
                f"Dex's configuration on the cluster has the user {', '.join(self.users)}, and this inventory has not.",
                "every user in kubeflow_users: a roll-out replaces Dex's configuration.",
                "add it to kubeflow_users; its hash in the configuration is a password_hash there. Or, to give it up, "
                f"remove it with {edit}.",
            )


def undeclared(cluster: Cluster, parts: Mapping[str, Sequence[Object]]) -> Undeclared:
    """Compare the configuration of Dex on the cluster with the declared one, if there are both.

    Roll-outs write the ids of their connectors into an annotation, and the hash of a user into the environment, under a
    name of their own.

    Raises:
        ApiError: the API server refuses the question.
    """
    declared = named(parts.get(DEX, ()), "ConfigMap", DEX)
    live = cluster.get(LIVE) if declared else None
    if not declared or not live:
        return Undeclared()
    wanted, present = configuration(declared), configuration(live)
    made = (live["metadata"].get("annotations") or {}).get(MADE, "").split()
    ids = {*_texts(wanted, "connectors", "id"), *made}
    emails = {email.lower() for email in _texts(wanted, "staticPasswords", "email")} | {UPSTREAM_EMAIL}
    left = [
        (str(item["email"]), str(item.get("hashFromEnv", "")).startswith(HASH_KEY))
        for item in _entries(present, "staticPasswords")
        if item.get("email") and str(item["email"]).lower() not in emails
    ]
    return Undeclared(
        tuple(name for name in _texts(present, "connectors", "id") if name not in ids),
        tuple(email for email, ours in left if not ours),
        tuple(email for email, ours in left if ours),
    )


def configuration(config_map: Object) -> Mapping[str, Any]:
    """Dex's configuration in its ConfigMap; empty if it cannot be parsed, which Dex cannot do either."""
    try:
        parsed = foreign.parse((config_map.get("data") or {}).get(CONFIG, "").encode(), f"{CONFIG} of Dex")
    except InvalidInput:
        return {}
    return parsed[0] if parsed and isinstance(parsed[0], Mapping) else {}


def _texts(config: Mapping[str, Any], key: str, name: str) -> list[str]:
    return [str(item[name]) for item in _entries(config, key) if item.get(name)]


def _entries(config: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    entries = config.get(key)
    yield from (item for item in (entries if isinstance(entries, list) else ()) if isinstance(item, Mapping))
