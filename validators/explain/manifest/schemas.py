"""What a manifest has that its kind does not: unknown fields, values of other types, limits that are not kept.

The schema is that of the API server (OpenAPI v3) where there is one; else that of a CustomResourceDefinition in the
files, of the catalog's releases, or of Kubernetes itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kubeflow_volcano.catalog.kinds import fields
from kubeflow_volcano.catalog.parts import groups_of
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, group_of
from kubeflow_volcano.text import did_you_mean, few, most_similar
from kubeflow_volcano.validators.core.facts import Fact
from kubeflow_volcano.validators.explain.manifest import built_in
from kubeflow_volcano.validators.explain.manifest.templates import Path

_FREE = "x-kubernetes-preserve-unknown-fields"
_DEPTH = 8
"""How many steps below its top a kind is searched for a field."""
_GVK = "x-kubernetes-group-version-kind"
_QUANTITY = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?")
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "quantity": (int, float, str),
    "int-or-string": (int, str),
    "string": (str,),
}
_MOST_SHOWN = 60
_ALMOST = 0.85
"""How much of a name is that of a field beside it, so that none elsewhere is looked for."""
_OF_ALL: Mapping[str, Any] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": "V1ObjectMeta"},
    "status": {},
}
"""Fields of every kind."""
_TRIAL = "${trialParameters."
"""Katib puts a value in its place, of whichever type."""

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]
"""Schemas of one API version by their names in it."""
SCHEMAS = Fact[Mapping[str, Schemas]]("schemas", lambda _cluster, _facts: {}, {})
"""By apiVersion; an API version that is not served has none."""


@dataclass(frozen=True, slots=True)
class Known:
    """The schema of a kind, and how to find those that it refers to."""

    root: Schema
    find: Callable[[str], Schema]

    def resolved(self, schema: Schema) -> Schema:
        """The schema without references; built-in types of the API server wrap one in allOf beside a default."""
        while True:
            inner = schema.get("$ref") or next((item.get("$ref") for item in schema.get("allOf") or ()), None)
            if inner is None:
                return schema
            schema = self.find(str(inner))


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a value: `reason` is that of a finding, `said` begins with a blank or is empty.

    `place` is where the kind has a field of that name instead.
    """

    path: Path
    reason: str
    said: str
    place: str = ""


def fetch(cluster: Cluster, api_version: str) -> Schemas:
    """The schemas of an API version, as any authenticated user may read them.

    Raises:
        ApiError: Kubernetes before 1.24 answers 404.
    """
    root = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
    schemas: Schemas = cluster.request("GET", f"/openapi/v3/{root}")["components"]["schemas"]
    return schemas


def of_server(obj: Object, schemas: Schemas) -> Known | None:
    """What the API server knows of the object's kind; None where its schemas do not describe it."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    wanted = {"group": group, "version": version, "kind": obj["kind"]}
    root = next((schema for schema in schemas.values() if wanted in schema.get(_GVK, ())), None)
    return None if root is None else Known(root, lambda ref: schemas.get(ref.rpartition("/")[2]) or {})


def of_releases(api_version: str, kind: str) -> Known | None:
    """What Kubernetes or the catalog's releases have of the kind; None for kinds of others."""
    if model := built_in.model_of(api_version, kind):
        return Known(built_in.schema_of(model), find)
    return _custom(fields.root_of(api_version, kind)) if fields.has_kind(api_version, kind) else None


def of_files(api_version: str, kind: str, objects: Iterable[Object]) -> Known | None:
    """What a CustomResourceDefinition in the files has of the kind."""
    for spec in (item.get("spec") or {} for item in objects if item["kind"] == "CustomResourceDefinition"):
        for version in spec.get("versions") or () if (spec.get("names") or {}).get("kind") == kind else ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if schema and f"{spec.get('group')}/{version.get('name')}" == api_version:
                return _custom(schema)
    return None


def _custom(schema: Schema) -> Known:
    return Known({**schema, "properties": {**(schema.get("properties") or {}), **_OF_ALL}}, find)


def served_instead(api_version: str, kind: str) -> list[str]:
    """The API versions that releases or Kubernetes have the kind in, those of the same group if there are some."""
    releases = [f"{group}/{version}" for group, versions in groups_of(kind).items() for version in versions]
    found = [item for item in (*built_in.versions_of(kind), *releases) if item != api_version]
    return [item for item in found if group_of(item) == group_of(api_version)] or found


def find(ref: str) -> Schema:
    """The schema that one of the catalog or of Kubernetes refers to."""
    return fields.node(ref) if ref.startswith("#") else built_in.schema_of(ref)


def faults(obj: Object, known: Known) -> Iterator[Fault]:
    """Everything that is wrong with an object, in its order."""
    yield from _faults(obj, known.root, known, ())


def _faults(value: Any, schema: Schema, known: Known, path: Path) -> Iterator[Fault]:
    schema = known.resolved(schema)
    if value is None or (isinstance(value, str) and _TRIAL in value):
        return
    if wrong := _mistyped(value, schema, path):
        yield Fault(path, "WrongType", wrong)
        return
    if wrong := _beyond(value, schema):
        yield Fault(path, "ValueNotAllowed", wrong)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _inside(item, schema.get("items") or {}, known, (*path, index))
    elif isinstance(value, dict):
        inner = _embedded(value) if path and not schema.get("properties") else None
        if inner is None:
            yield from _of_object(value, schema, known, path)
        else:  # its places are those of another object
            yield from (replace(each, place="") for each in _of_object(value, inner.root, inner, path))


def _of_object(value: Object, schema: Schema, known: Known, path: Path) -> Iterator[Fault]:
    names: Mapping[str, Any] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for key in schema.get("required") or ():
        if value.get(key) is None:
            yield Fault((*path, key), "FieldMissing", "")
    for key, item in value.items():
        if key in names:
            yield from _faults(item, names[key], known, (*path, key))
        elif isinstance(others, Mapping):
            yield from _inside(item, others, known, (*path, key))
        elif (names or others is False) and not others and not schema.get(_FREE):
            yield _unknown((*path, key), item, names, known)
        else:
            yield from _beside(key, item, names, known, path)


def _beside(key: str, value: Any, names: Iterable[str], known: Known, path: Path) -> Iterator[Fault]:
    """A field that the API server keeps beside those that it knows, and that nothing reads where it is."""
    if names and (found := _unknown((*path, key), value, names, known)).place:
        yield replace(found, said=f"{found.said} Where it is, it is kept and not read.")
    else:
        yield from _faults(value, {}, known, (*path, key))


def _unknown(path: Path, value: Any, names: Iterable[str], known: Known) -> Fault:
    """A field that is not there: that beside it is meant which is the same but for a letter or the case of some."""
    name, lower = str(path[-1]), {each.lower(): each for each in names}
    if same := lower.get(name.lower()) or most_similar(name, lower.values(), _ALMOST):
        return Fault(path, "UnknownField", f" Did you mean {same}?")
    if isinstance(value, dict) and value and value.keys() <= {*lower.values()}:
        return Fault(path, "UnknownField", " Its fields belong beside it: move them out of it.")
    if place := _place_of(name, known):
        return Fault(path, "UnknownField", f" One of that name is in {place}.", place)
    return Fault(path, "UnknownField", did_you_mean(name, names))


def _inside(value: Any, schema: Schema, known: Known, path: Path) -> Iterator[Fault]:
    """What is wrong with an item of a list or a map, which must be there."""
    if value is None and schema:
        yield Fault(path, "WrongType", " is empty")
    yield from _faults(value, schema, known, path)


def _embedded(value: Object) -> Known | None:
    """What is known of an object that another one has in it, as the trials of an experiment are."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return of_releases(api_version, kind) if isinstance(api_version, str) and isinstance(kind, str) else None


def _mistyped(value: Any, schema: Schema, path: Path) -> str:
    wanted = str(schema.get("format") if schema.get("format") in _TYPES else schema.get("type"))
    types = _TYPES.get(wanted)
    if types is None:
        return ""
    shown = repr(value)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
    if wanted == "quantity" and isinstance(value, str):
        right = _QUANTITY.fullmatch(value) or _TRIAL in value
        return "" if right else f" {shown} is no quantity{_meant(value, str(path[-1]))}"
    whole = isinstance(value, float) and value.is_integer() and int in types
    if isinstance(value, bool) is (bool in types) and (isinstance(value, types) or whole):
        return ""
    scalar = wanted == "string" and not isinstance(value, list | dict)
    return f" {shown} is not of type {wanted}{': write it in quotes' if scalar else ''}"


def _beyond(value: Any, schema: Schema) -> str:
    """Why the schema does not allow a value of the right type; empty where it does."""
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        names = [str(item) for item in allowed]
        return f" {value!r} is none of {few(names, 8)}.{did_you_mean(str(value), names)}"
    if isinstance(value, int | float):
        if value < schema.get("minimum", value):
            return f" {value} is less than {schema['minimum']}."
        if value > schema.get("maximum", value):
            return f" {value} is more than {schema['maximum']}."
    return ""


def _meant(text: str, resource: str) -> str:
    """The quantity that a text with another case or unit stands for: 500m for a CPU of '500mi', 2Gi for '2gb'."""
    found = re.fullmatch(r"([0-9.]+)\s*([a-z]+)", text.lower())
    if found is None:
        return ""
    number, unit = found.groups()
    if resource == "cpu":
        right = "m" if unit[0] == "m" else ""
    else:
        right = next((each for each in _UNITS if each.lower()[0] == unit[0]), "")
    return f": write {number}{right}"


def _place_of(name: str, known: Known) -> str:
    """Where the kind has a field of that name, if it has one nearest to its top; empty otherwise."""
    level = [("", known.root)]
    seen: set[int] = set()
    for _ in range(_DEPTH):
        below: list[tuple[str, Schema]] = []
        for path, each in level:
            found = known.resolved(each)
            if id(found) in seen:  # such as containers beside initContainers
                continue
            seen.add(id(found))
            inside = found.get("items") or found.get("additionalProperties")
            if isinstance(inside, Mapping):
                below.append((f"{path}[]" if found.get("items") else f"{path}.*", inside))
            below += [(f"{path}.{key}", item) for key, item in (found.get("properties") or {}).items()]
        places = [path for path, _ in below if path.endswith(f".{name}")]
        if places:
            return places[0].removeprefix(".") if len(places) == 1 else ""
        level = [(path, item) for path, item in below if not path.startswith((".status", ".metadata"))]
    return ""
