"""The account in the manifests of Dex, of the service that authenticates through it, and of the first profile. Pure.

One layout for all releases: Dex reads the hash from its environment, which a Secret provides (`hashFromEnv`, since Dex
v2.31). Up to Kubeflow 1.8 upstream has it in a ConfigMap instead.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.objects import Object, named, new_object
from kubeflow_volcano.rollout.account.first_user import is_published
from kubeflow_volcano.rollout.settings.people.connectors import DEX
from kubeflow_volcano.rollout.settings.user import Account, Login

PASSWORDS = "dex-passwords"
"""Name of the Secret with the hash, in the namespace of Dex."""

HASH_KEY = "DEX_USER_PASSWORD"
"""Key of the first user's hash, and the beginning of those of further users."""

UPSTREAM_EMAIL = "user@example.com"

CONFIG = "config.yaml"
"""Key of Dex's ConfigMap."""

_SUM = "kubeflow-volcano/sign-in"
"""Annotation of pod templates: its change restarts the processes, which read the account only at their start."""


def dex(objects: list[Object], account: Account) -> None:
    """Give Dex the users of the inventory, with their hashes in a Secret, and replace published secrets.

    A configuration without upstream's user keeps its own users; those with the address of a further user are replaced.
    """
    _replace_published(objects, account)
    config_map = named(objects, "ConfigMap", DEX)
    deployment = named(objects, "Deployment", DEX)
    if config_map is None or deployment is None:
        return
    text = config_map["data"][CONFIG]
    config = foreign.parse(text.encode(), f"{CONFIG} of Dex")[0]
    hashes: dict[str, str] = {}
    for user in _static_users(config, account):
        user.pop("hash", None)
        user |= {"email": account.email, "hashFromEnv": HASH_KEY}
        hashes[HASH_KEY] = account.password_hash
    if account.logins:
        _add_logins(config, account.logins)
        hashes |= {_key(item): item.password_hash for item in account.logins}
    if hashes:
        config_map["data"][CONFIG] = yaml.dump(config, Dumper=foreign.Dumper, sort_keys=False)
        _keep_hashes_in_secret(objects, deployment, hashes)
    _restart_on_change([deployment], account.sum_of_logins)


def relying_party(objects: list[Object], account: Account) -> None:
    """Replace the published secrets of oauth2-proxy or of the OIDC AuthService."""
    _replace_published(objects, account)
    _restart_on_change(objects, account.sum)


def first_profile(objects: list[Object], account: Account) -> None:
    """Make the account the owner of the profile, and name the profile after its namespace."""
    for obj in objects:
        if obj["kind"] == "Profile":
            obj["metadata"]["name"] = account.namespace
            obj["spec"]["owner"] = {"kind": "User", "name": account.email}
        elif obj["kind"] == "ConfigMap" and "profile-name" in (obj.get("data") or {}):
            obj["data"] |= {"user": account.email, "profile-name": account.namespace}


def hashes_of(texts: Mapping[str, str]) -> dict[str, str]:
    """The hashes of further users by the name of their login, from the values of the Secret."""
    before = f"{HASH_KEY}_"
    return {key.removeprefix(before): text for key, text in texts.items() if key.startswith(before)}


def decoded(secret: Object) -> dict[str, str]:
    """The values of a Secret as text, by key."""
    texts = {
        key: base64.b64decode(value or "").decode("utf-8", "replace")
        for key, value in (secret.get("data") or {}).items()
    }
    return texts | (secret.get("stringData") or {})


def encoded(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts by key as `data` of a Secret."""
    return {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}


def annotate(meta: Object, name: str, value: str) -> None:
    """Set an annotation in the metadata of an object or a pod template."""
    meta["annotations"] = {**(meta.get("annotations") or {}), name: value}


def _static_users(config: Mapping[str, Any], account: Account) -> Iterator[dict[str, Any]]:
    for user in config.get("staticPasswords") or ():
        if user.get("email") in {UPSTREAM_EMAIL, account.email}:
            yield user
            return  # further users of one's own configuration keep their passwords


def _add_logins(config: dict[str, Any], logins: Iterable[Login]) -> None:
    made = [
        {
            "email": item.email,
            "hashFromEnv": _key(item),
            "username": item.email.partition("@")[0],
            "userID": str(uuid.uuid5(uuid.NAMESPACE_URL, f"mailto:{item.email.lower()}")),
        }
        for item in logins
    ]
    addresses = {item["email"].lower() for item in made}
    kept = [item for item in config.get("staticPasswords") or () if item.get("email", "").lower() not in addresses]
    config |= {"enablePasswordDB": True, "staticPasswords": [*kept, *made]}


def _key(login: Login) -> str:
    """The environment variable of Dex with the hash."""
    return f"{HASH_KEY}_{login.name}"


def _keep_hashes_in_secret(objects: list[Object], deployment: Object, hashes: Mapping[str, str]) -> None:
    secret = named(objects, "Secret", PASSWORDS)
    if secret is None:
        secret = new_object("v1", "Secret", PASSWORDS, deployment["metadata"]["namespace"], type="Opaque")
        objects.insert(objects.index(deployment), secret)
    _write(secret, {**decoded(secret), **hashes})
    reference = {"secretRef": {"name": PASSWORDS}}
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        if container["name"] == DEX and reference not in container.setdefault("envFrom", []):
            container["envFrom"].append(reference)


def _replace_published(objects: Iterable[Object], account: Account) -> None:
    for obj in objects:
        if obj["kind"] != "Secret":
            continue
        texts = decoded(obj)
        own = {
            key: account.cookie_secret if "cookie" in key.lower() else account.client_secret
            for key, text in texts.items()
            if is_published(text)
        }
        if own:
            _write(obj, texts | own)


def _restart_on_change(objects: Iterable[Object], total: str) -> None:
    for obj in objects:
        if obj["kind"] in {"Deployment", "StatefulSet"}:
            annotate(obj["spec"]["template"].setdefault("metadata", {}), _SUM, total)


def _write(secret: Object, texts: Mapping[str, str]) -> None:
    """As `data`: the API server does not return `stringData`, so a second run would differ."""
    secret.pop("stringData", None)
    secret["data"] = encoded(texts)
