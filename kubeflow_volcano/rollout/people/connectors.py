"""Connectors in the manifests of Dex. Pure.

Dex replaces `$NAME` in texts of a connector's configuration by its environment, which a Secret provides. So secrets go
there, and texts with a `$` that is meant as it is. Before Dex v2.42 the replacement happens in the JSON, which the
value then has to fit (dexidp/dex#3770).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, named, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.account.sign_in import CONFIG, annotate, encoded
from kubeflow_volcano.rollout.settings.access import AccessSettings
from kubeflow_volcano.rollout.settings.people.connectors import (
    DEX,
    Connector,
    is_secret,
    public_issuer,
    redirect_uri,
)

MADE = "kubeflow-volcano/connectors"
"""Annotation: of the ConfigMap the ids of connectors of the inventory; of Dex's pods the sum of these, which restarts
Dex when one changes."""

SECRETS = "dex-connectors"
"""Secret with the secrets of connectors, in the namespace of Dex."""

_EXPANDS_VALUES = "2.42.0"
"""First version of Dex that replaces variables in values instead of in the JSON."""

_VERSION = re.compile(r"\d+(\.\d+)+")


def add_connectors(
    objects: list[Object], connectors: Sequence[Connector], access: AccessSettings, version: str
) -> None:
    """Give Dex the connectors of the inventory, with their secrets in a Secret, and the issuer that they need.

    A connector of the manifests with the same id is replaced. `version` is that of Dex if its image does not say it.

    Raises:
        InvalidInput: the manifests lack Dex's ConfigMap or Deployment.
    """
    if not connectors:
        return
    config_map, deployment = named(objects, "ConfigMap", DEX), named(objects, "Deployment", DEX)
    if config_map is None or deployment is None:
        raise InvalidInput.problem(
            "the manifests of dex have no ConfigMap and Deployment of that name.",
            "both, which get kubeflow_connectors.",
            "correct kubeflow_source or kubeflow_sources.dex.",
        )
    container = _container(deployment)
    tag = version_tag(container["image"])
    in_json = version_key(tag if _VERSION.fullmatch(tag) else version) < version_key(_EXPANDS_VALUES)
    config = foreign.parse(config_map["data"][CONFIG].encode(), f"{CONFIG} of Dex")[0]
    secrets: dict[str, str] = {}
    made = [_entry(item, access, secrets, in_json=in_json) for item in connectors]
    ids = {item.id for item in connectors}
    kept = [item for item in config.get("connectors") or () if item.get("id") not in ids]
    config["connectors"] = [*kept, *made]
    if issuer := public_issuer(connectors, access):
        config["issuer"] = issuer
    config_map["data"][CONFIG] = yaml.dump(config, Dumper=foreign.Dumper, sort_keys=False)
    annotate(config_map["metadata"], MADE, " ".join(sorted(ids)))
    if secrets:
        objects.insert(objects.index(deployment), _secret(deployment["metadata"]["namespace"], secrets))
        container.setdefault("envFrom", []).append({"secretRef": {"name": SECRETS}})
    text = json.dumps([config, secrets], sort_keys=True)
    template = deployment["spec"]["template"].setdefault("metadata", {})
    annotate(template, MADE, hashlib.sha256(text.encode()).hexdigest()[:16])


def _entry(item: Connector, access: AccessSettings, secrets: dict[str, str], *, in_json: bool) -> dict[str, Any]:
    """The connector as Dex reads it; adds to `secrets` what its environment has to provide."""
    before = f"DEX_CONNECTOR_{_variable(item.id)}"
    config = dict(item.config)
    if item.redirects:
        config["redirectURI"] = redirect_uri(access)
    own: dict[str, str] = {}
    config = _replaced(config, "", before, own)
    secrets |= {name: json.dumps(text, ensure_ascii=False)[1:-1] if in_json else text for name, text in own.items()}
    return {"type": item.type, "id": item.id, "name": item.name, "config": config}


def _replaced(value: Any, path: str, variable: str, secrets: dict[str, str]) -> Any:
    """The value with references instead of secrets, which are added to `secrets` by the name of their variable."""
    if isinstance(value, Mapping):
        return {
            key: _replaced(item, f"{path}.{key}", f"{variable}_{_variable(key)}", secrets)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_replaced(item, f"{path}.{at}", f"{variable}_{at}", secrets) for at, item in enumerate(value)]
    if isinstance(value, str) and value and (is_secret(path) or "$" in value):
        secrets[variable] = value
        return f"${variable}"
    return value


def _variable(text: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", text.upper())


def _secret(namespace: str, texts: Mapping[str, str]) -> Object:
    return new_object("v1", "Secret", SECRETS, namespace, type="Opaque", data=encoded(texts))


def _container(deployment: Object) -> Object:
    containers: list[Object] = deployment["spec"]["template"]["spec"]["containers"]
    return next((item for item in containers if item["name"] == DEX), containers[0])
