"""Users with a password in Dex, and whether it is the published one.

Dex takes the bcrypt hash of a static user from its configuration, or out of its environment (`hashFromEnv`). Only the
Secrets that feed this environment are read, by name, and nothing of them is kept.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bcrypt

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, errored
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of

__all__ = ["CONFIGURATION", "DEX", "SIGN_IN", "SignIn", "sign_in"]

DEX = Ref("apps/v1", "Deployment", "auth", "dex")
CONFIGURATION = Ref("v1", "ConfigMap", "auth", "dex")

_KEY = "config.yaml"
_PUBLISHED = b"12341234"  # in upstream's README


@dataclass(frozen=True, slots=True)
class SignIn:
    """Who may sign in with a password of Dex's own. No hash is kept.

    `published` are the users whose password is the one that upstream publishes, `unknown` those whose hash was not
    found where Dex looks for it. `connectors` are the names of identity providers through which others sign in.
    """

    emails: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()


def sign_in(cluster: Cluster, facts: Facts) -> SignIn | None:
    """The static users; None where no Dex runs.

    Raises:
        CannotJudgeError: the configuration is no YAML.
        ApiError: the configuration or a Secret may not be read.
    """
    dex = facts.get(DEPLOYMENTS, DEX.namespace, DEX.name)
    if dex is None:
        return None
    configuration = _configuration(cluster)
    users = _named(configuration.get("staticPasswords"), "email")
    hashes = {user["email"]: user.get("hash", "") for user in users}
    if wanted := {user["hashFromEnv"] for user in users if "hashFromEnv" in user}:
        environment = dict(_environment(cluster, container_of(dex), wanted))
        hashes |= {user["email"]: environment.get(user["hashFromEnv"], "") for user in users if "hashFromEnv" in user}
    return SignIn(
        emails=tuple(hashes),
        published=tuple(email for email, found in hashes.items() if found and _matches(found)),
        unknown=tuple(email for email, found in hashes.items() if not found),
        connectors=tuple(item.get("name") or item["type"] for item in _named(configuration.get("connectors"), "type")),
    )


def _configuration(cluster: Cluster) -> Mapping[str, Any]:
    text = ((cluster.get(CONFIGURATION) or {}).get("data") or {}).get(_KEY, "")
    try:
        documents = strict_yaml.parse(text, f"{_KEY} of Dex")
    except InvalidInput as error:
        todo = f"correct {CONFIGURATION}."
        raise CannotJudgeError(errored("NotYaml", error.problems[0].found, todo=todo)) from error
    return documents[0] if documents and isinstance(documents[0], dict) else {}


def _named(entries: Any, key: str) -> list[Mapping[str, Any]]:
    return [item for item in entries or () if isinstance(item, dict) and item.get(key)]


def _environment(cluster: Cluster, container: Object, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """Names and values of the wanted variables; those of `env` come last, because they win."""
    for source in container.get("envFrom") or ():
        if "secretRef" in source:
            prefix = source.get("prefix", "")
            found = _secret(cluster, source["secretRef"]["name"])
            yield from ((prefix + key, value) for key, value in found.items() if prefix + key in wanted)
    for entry in container.get("env") or ():
        if entry["name"] not in wanted:
            continue
        if reference := (entry.get("valueFrom") or {}).get("secretKeyRef"):
            yield entry["name"], _secret(cluster, reference["name"]).get(reference["key"], "")
        else:
            yield entry["name"], entry.get("value", "")


def _secret(cluster: Cluster, name: str) -> Mapping[str, str]:
    found = cluster.get(Ref("v1", "Secret", DEX.namespace, name)) or {}
    return {key: _decoded(value) for key, value in (found.get("data") or {}).items()}


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return ""


def _matches(password_hash: str) -> bool:
    try:
        return bcrypt.checkpw(_PUBLISHED, password_hash.strip().encode())
    except ValueError:  # no bcrypt hash at all
        return False


SIGN_IN = Fact[SignIn | None](
    "sign-in",
    sign_in,
    None,
    reads=(DEPLOYMENTS,),
    needs=tuple(Rule("get", "", plural, DEX.namespace) for plural in ("configmaps", "secrets")),
)
"""Who may sign in through Dex; None where there is no Dex."""
