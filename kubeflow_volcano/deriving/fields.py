"""The fields of kinds, from the CustomResourceDefinitions of all releases, as catalog/kinds/fields.py describes them.

Releases differ, and a manifest does not say which one it is for: a field counts that any of them has, the widest limit
of those that have one, and what all of them require.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Object

_FREE = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_OF_SERVER = ("apiVersion", "kind", "metadata", "status")
"""Fields at the top that are the same for all kinds, or that no manifest sets."""

Schema = Mapping[str, Any]


def definitions_in(objects: Iterable[Object]) -> tuple[Object, ...]:
    """The CustomResourceDefinitions of these objects."""
    return tuple(item for item in objects if item["kind"] == "CustomResourceDefinition")


def fields_of(definitions: Mapping[str, Iterable[Object]]) -> str:
    """The text of the file: a line for each kind and for each node, named by its content.

    Args:
        definitions: those of each release, by its name.
    """
    found: dict[str, list[Schema]] = {}
    for spec in (item["spec"] for name in sorted(definitions) for item in definitions[name]):
        for version in spec["versions"]:
            if schema := (version.get("schema") or {}).get("openAPIV3Schema"):
                found.setdefault(f"{spec['group']}/{version['name']} {spec['names']['kind']}", []).append(schema)
    nodes: dict[str, str] = {}
    kinds = {kind: _kind(schemas, nodes) for kind, schemas in sorted(found.items()) if not _is_blank(schemas)}
    lines = [
        *(f"{json.dumps(kind)}: {json.dumps(shape)}" for kind, shape in kinds.items()),
        *(f"{json.dumps(name)}: {nodes[name]}" for name in sorted(nodes)),
    ]
    return "{" + f'"sources": {json.dumps(sorted(definitions))},\n' + ",\n".join(lines) + "}\n"


def _is_blank(schemas: Iterable[Schema]) -> bool:
    """Whether a definition names no field of the spec, so that nothing can be said of the kind."""
    specs = [(item.get("properties") or {}).get("spec", {}) for item in schemas]
    return any(_is_open(item) and not item.get("properties") for item in specs) or not any(specs)


def _kind(schemas: Sequence[Schema], nodes: dict[str, str]) -> str:
    """The shape of a kind without the fields that all kinds have."""
    own = [
        {**item, "properties": {key: each for key, each in item.get("properties", {}).items() if key not in _OF_SERVER}}
        for item in schemas
    ]
    return _named(_object(own, nodes) | ({"open": True} if any(map(_is_open, own)) else {}), nodes)


def _shape(schemas: Sequence[Schema], nodes: dict[str, str]) -> str:
    """The shape of a value that fits one of the schemas."""
    if any(_EITHER in item for item in schemas):
        return "quantity" if any("pattern" in item for item in schemas) else "int-or-string"
    types = {item.get("type") for item in schemas}
    if len(types) > 1 or None in types or any(item.get(_EMBEDDED) for item in schemas):
        return "any"
    (kind,) = types
    if kind == "array":
        return f"{_shape([item.get('items', {}) for item in schemas], nodes)}[]"
    if kind == "object":
        return _mapping(schemas, nodes)
    return _named({"type": kind, **_limits(schemas)}, nodes) if _limits(schemas) else str(kind)


def _mapping(schemas: Sequence[Schema], nodes: dict[str, str]) -> str:
    if any("properties" in item for item in schemas):
        return _named(_object(schemas, nodes) | ({"open": True} if any(map(_is_open, schemas)) else {}), nodes)
    if maps := [item["additionalProperties"] for item in schemas if isinstance(item.get("additionalProperties"), dict)]:
        return f"{_shape(maps, nodes)}{{}}"
    return "any" if any(map(_is_open, schemas)) else "none"


def _is_open(schema: Schema) -> bool:
    return bool(schema.get(_FREE) or schema.get("additionalProperties"))


def _object(schemas: Sequence[Schema], nodes: dict[str, str]) -> dict[str, Any]:
    names = sorted({name for item in schemas for name in item.get("properties") or ()})
    have = [
        (name, [item["properties"][name] for item in schemas if name in item.get("properties", {})]) for name in names
    ]
    needed = set.intersection(*(set(item.get("required") or ()) for item in schemas)) & {*names}
    # A default of the schema stands in for what is missing.
    needed -= {name for name, items in have if any("default" in item for item in items)}
    fields = {name: _shape(items, nodes) for name, items in have}
    return {"fields": fields, **({"required": sorted(needed)} if needed else {})}


def _limits(schemas: Sequence[Schema]) -> dict[str, Any]:
    """Those of the releases that have some: webhooks and operators of others refuse what they exclude, too."""
    found: dict[str, Any] = {}
    if values := [value for item in schemas for value in item.get("enum", ())]:
        found["enum"] = list(dict.fromkeys(values))
    for key, widest in (("minimum", min), ("maximum", max)):
        if bounds := [item[key] for item in schemas if key in item]:
            found[key] = widest(bounds)
    return found


def _named(node: Mapping[str, Any], nodes: dict[str, str]) -> str:
    text = json.dumps(node, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    name = f"#{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    if nodes.setdefault(name, text) != text:
        raise AssertionError(f"two nodes are called {name}")
    return name
