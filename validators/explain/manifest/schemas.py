"""The API server's own schemas (OpenAPI v3), and which fields of an object they do not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.text import did_you_mean
from kubeflow_volcano.validators.core.facts import Fact
from kubeflow_volcano.validators.explain.manifest.templates import Path

_FREE = "x-kubernetes-preserve-unknown-fields"
_DEPTH = 6
"""How many steps below its top a kind is searched for a field."""
_GVK = "x-kubernetes-group-version-kind"

Schemas = Mapping[str, Mapping[str, Any]]
"""Schemas of one API version by their names in it."""
SCHEMAS = Fact[Mapping[str, Schemas]]("schemas", lambda _cluster, _facts: {}, {})
"""By apiVersion; an API version that is not served has none."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field that the schema does not have; `hint` says where one of its name or a similar one is, or is empty."""

    path: Path
    hint: str


def fetch(cluster: Cluster, api_version: str) -> Schemas:
    """The schemas of an API version, as any authenticated user may read them.

    Raises:
        ApiError: Kubernetes before 1.24 answers 404.
    """
    root = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
    schemas: Schemas = cluster.request("GET", f"/openapi/v3/{root}")["components"]["schemas"]
    return schemas


def unknown_fields(obj: Object, schemas: Schemas) -> Iterator[Unknown]:
    """Fields of the object that its kind does not have; none where the schemas do not describe its kind."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    wanted = {"group": group, "version": version, "kind": obj["kind"]}
    for schema in schemas.values():
        if wanted in schema.get(_GVK, ()):
            for each in _below(obj, schema, schemas, ()):
                place = _place_of(str(each.path[-1]), schema, schemas)
                yield Unknown(each.path, f" It is in {place}." if place else each.hint)
            return


def _below(value: Any, schema: Mapping[str, Any], schemas: Schemas, path: Path) -> Iterator[Unknown]:
    schema = _resolved(schema, schemas)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, schema.get("items") or {}, schemas, (*path, index))
    if not isinstance(value, dict):
        return
    known: Mapping[str, Any] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for key, item in value.items():
        if key in known:
            yield from _below(item, known[key], schemas, (*path, key))
        elif isinstance(others, Mapping):
            yield from _below(item, others, schemas, (*path, key))
        elif known and not others and not schema.get(_FREE):
            yield Unknown((*path, key), did_you_mean(key, known))


def _place_of(name: str, schema: Mapping[str, Any], schemas: Schemas) -> str:
    """Where the kind has a field of that name, if it has one nearest to its top; empty otherwise."""
    level = [("", schema)]
    for _ in range(_DEPTH):
        below: list[tuple[str, Mapping[str, Any]]] = []
        for path, each in level:
            found = _resolved(each, schemas)
            inside = found.get("items") or found.get("additionalProperties")
            if isinstance(inside, Mapping):
                below.append((f"{path}[]" if found.get("items") else f"{path}.*", inside))
            below += [(f"{path}.{key}", item) for key, item in (found.get("properties") or {}).items()]
        places = [path for path, _ in below if path.endswith(f".{name}")]
        if places:
            return places[0].removeprefix(".") if len(places) == 1 else ""
        level = [(path, item) for path, item in below if not path.startswith((".status", ".metadata"))]
    return ""


def _resolved(schema: Mapping[str, Any], schemas: Schemas) -> Mapping[str, Any]:
    """The schema with its references; built-in types wrap one in allOf beside a default."""
    while True:
        inner = schema.get("$ref") or next((item.get("$ref") for item in schema.get("allOf") or ()), None)
        if inner is None:
            return schema
        schema = schemas.get(str(inner).rpartition("/")[2]) or {}
