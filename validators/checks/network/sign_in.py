"""Users with a password in Dex, and whether it is the published one.

Dex takes the bcrypt hash of a static user from its configuration, or out of its environment (`hashFromEnv`). Only the
Secrets that feed this environment are read, by name, and nothing of them is kept.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import bcrypt

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, errored
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of

DEX = Ref("apps/v1", "Deployment", "auth", "dex")
CONFIGURATION = Ref("v1", "ConfigMap", "auth", "dex")

_KEY = "config.yaml"
_PASSWORDS = ("dex-passwords",)
"""The Secrets with hashes, as upstream and the roll-out call them. For others that feed Dex's environment, such as that
with the secrets of clients, no right is asked; a variable of theirs with a hash needs one, which the finding names."""
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
    hashes = {user["email"]: _text(user, "hash") for user in users}
    if named := {user["email"]: name for user in users if (name := _text(user, "hashFromEnv"))}:
        environment = _environment(cluster, container_of(dex), {*named.values()})
        hashes |= {email: environment.get(name, "") for email, name in named.items()}
    return SignIn(
        emails=tuple(hashes),
        published=tuple(email for email, found in hashes.items() if found and _matches(found)),
        unknown=tuple(email for email, found in hashes.items() if not found),
        connectors=tuple(
            _text(item, "name") or item["type"] for item in _named(configuration.get("connectors"), "type")
        ),
    )


def _configuration(cluster: Cluster) -> Mapping[str, Any]:
    text = ((cluster.get(CONFIGURATION) or {}).get("data") or {}).get(_KEY, "")
    try:
        documents = foreign.parse(text, f"{_KEY} of Dex")
    except InvalidInput as error:
        todo = f"correct {CONFIGURATION}."
        raise CannotJudgeError(errored("NotYaml", error.problems[0].found, todo=todo)) from error
    return documents[0] if documents and isinstance(documents[0], dict) else {}


def _named(entries: Any, key: str) -> list[Mapping[str, Any]]:
    listed = entries if isinstance(entries, list) else ()
    return [item for item in listed if isinstance(item, dict) and _text(item, key)]


def _text(entry: Mapping[str, Any], key: str) -> str:
    """The text at a key; empty where something else is."""
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _environment(cluster: Cluster, container: Object, wanted: set[str]) -> Mapping[str, str]:
    """Names and values of the wanted variables. Those of `env` win, then the last source that has one.

    The Secrets that are known to hold hashes are read first, and others only while a variable is missing.
    """
    environment: dict[str, str] = {}
    for entry in container.get("env") or ():
        if entry["name"] in wanted:
            reference = (entry.get("valueFrom") or {}).get("secretKeyRef")
            environment[entry["name"]] = (
                _secret(cluster, reference["name"]).get(reference["key"], "") if reference else entry.get("value", "")
            )
    sources = [source for source in reversed(container.get("envFrom") or ()) if "secretRef" in source]
    for source in sorted(sources, key=lambda item: item["secretRef"]["name"] not in _PASSWORDS):
        if wanted <= environment.keys():
            break
        prefix = source.get("prefix", "")
        values = _secret(cluster, source["secretRef"]["name"]).items()
        environment = {prefix + key: value for key, value in values if prefix + key in wanted} | environment
    return environment


def _secret(cluster: Cluster, name: str) -> Mapping[str, str]:
    secret = cluster.get(Ref("v1", "Secret", DEX.namespace, name)) or {}
    return {key: _decoded(value) for key, value in (secret.get("data") or {}).items()}


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
    needs=(
        Rule("get", "", "configmaps", DEX.namespace, (CONFIGURATION.name,)),
        Rule("get", "", "secrets", DEX.namespace, _PASSWORDS),
    ),
)
"""Who may sign in through Dex; None where there is no Dex."""
