"""The account, put into the manifests of Dex, of the service that signs in through it, and of the first profile. Pure.

One layout for all releases: Dex reads the hash from its environment, out of a Secret (`hashFromEnv`, known to every Dex
since v2.31). Up to Kubeflow 1.8 upstream has it in a ConfigMap instead.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.account.first_user import is_published
from kubeflow_volcano.rollout.settings.user import Account

__all__ = ["HASH_KEY", "PASSWORDS", "decoded", "dex", "first_profile", "relying_party"]

PASSWORDS = "dex-passwords"
"""Name of the Secret with the hash, in the namespace of Dex."""

HASH_KEY = "DEX_USER_PASSWORD"

_DEX = "dex"
_CONFIG = "config.yaml"
_UPSTREAM_EMAIL = "user@example.com"
_SUM = "kubeflow-volcano/sign-in"
"""Annotation of pod templates: these processes read the account once, at their start."""


def dex(objects: list[Object], account: Account) -> None:
    """One static user, whose hash stands in a Secret; where Dex has no static user, only the published secrets go."""
    _replace_published(objects, account)
    config_map = _named(objects, "ConfigMap", _DEX)
    deployment = _named(objects, "Deployment", _DEX)
    if config_map is None or deployment is None:
        return
    text = config_map["data"][_CONFIG]
    config = strict_yaml.parse(text.encode(), f"{_CONFIG} of Dex")[0]
    for user in _static_users(config, account):
        user.pop("hash", None)
        user |= {"email": account.email, "hashFromEnv": HASH_KEY}
        config_map["data"][_CONFIG] = yaml.safe_dump(config, sort_keys=False)
        _keep_hash_in_secret(objects, deployment, account)
    _restart_on_change([deployment], account)


def relying_party(objects: list[Object], account: Account) -> None:
    """oauth2-proxy or the OIDC AuthService: own secrets in place of the published ones."""
    _replace_published(objects, account)
    _restart_on_change(objects, account)


def first_profile(objects: list[Object], account: Account) -> None:
    """The profile belongs to the account, under the name that is asked for."""
    for obj in objects:
        if obj["kind"] == "Profile":
            obj["metadata"]["name"] = account.namespace
            obj["spec"]["owner"] = {"kind": "User", "name": account.email}
        elif obj["kind"] == "ConfigMap" and "profile-name" in (obj.get("data") or {}):
            obj["data"] |= {"user": account.email, "profile-name": account.namespace}


def decoded(secret: Object) -> dict[str, str]:
    """The texts in a Secret, by key."""
    texts = {
        key: base64.b64decode(value or "").decode("utf-8", "replace")
        for key, value in (secret.get("data") or {}).items()
    }
    return texts | (secret.get("stringData") or {})


def _static_users(config: Mapping[str, Any], account: Account) -> Iterator[dict[str, Any]]:
    for user in config.get("staticPasswords") or ():
        if user.get("email") in {_UPSTREAM_EMAIL, account.email}:
            yield user
            return  # an own configuration may have more users, whose passwords are its own


def _keep_hash_in_secret(objects: list[Object], deployment: Object, account: Account) -> None:
    secret = _named(objects, "Secret", PASSWORDS)
    if secret is None:
        metadata = {"name": PASSWORDS, "namespace": deployment["metadata"]["namespace"]}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
        objects.insert(objects.index(deployment), secret)
    _write(secret, {**decoded(secret), HASH_KEY: account.password_hash})
    reference = {"secretRef": {"name": PASSWORDS}}
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        if container["name"] == _DEX and reference not in container.setdefault("envFrom", []):
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


def _restart_on_change(objects: Iterable[Object], account: Account) -> None:
    for obj in objects:
        if obj["kind"] in {"Deployment", "StatefulSet"}:
            meta = obj["spec"]["template"].setdefault("metadata", {})
            meta["annotations"] = {**(meta.get("annotations") or {}), _SUM: account.sum}


def _write(secret: Object, texts: Mapping[str, str]) -> None:
    """As `data`: `stringData` is never read back, so that a second run would find it missing."""
    secret.pop("stringData", None)
    secret["data"] = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}


def _named(objects: Iterable[Object], kind: str, name: str) -> Object | None:
    return next((obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)), None)
