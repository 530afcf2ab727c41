"""Whether everything that one JSON Schema allows is allowed by another, as far as the schemas of this project go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TEXTS = {"$defs", "$id", "$schema", "description", "examples", "title"}
_LOWEST = ("minimum", "minLength", "minItems", "exclusiveMinimum", "minProperties")
_HIGHEST = ("maximum", "maxLength", "maxItems", "exclusiveMaximum", "maxProperties")
_ALTERNATIVES = ("anyOf", "oneOf")
_EQUAL = ("format", "if", "not", "pattern", "patternProperties", "then")


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with definitions in place of references to them, and without what is only for people."""
    return dict(_inlined(schema, schema.get("$defs", {})))


def _inlined(part: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, Mapping):
        return part
    if isinstance(reference := part.get("$ref"), str) and reference.startswith("#/$defs/"):
        return _inlined(definitions[reference.removeprefix("#/$defs/")] | _without(part, "$ref"), definitions)
    found = {}
    for key, value in part.items():
        if key == "properties":
            found[key] = {name: _inlined(each, definitions) for name, each in value.items()}
        elif key not in _TEXTS:
            found[key] = _inlined(value, definitions)
    return found


def _without(part: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != key}


def uncovered(part: Any, whole: Any, where: str = "", *, documents: bool = False) -> Iterator[str]:
    """What `part` allows and `whole` does not, in words.

    Args:
        part: a schema as `inlined` returns it.
        whole: another one.
        where: the path of both in their documents.
        documents: both describe what programs read, who pass over fields that they do not know, and miss those that
            are no longer there.
    """
    if whole is True or part is False or part == whole:
        return
    if not isinstance(part, Mapping) or not isinstance(whole, Mapping):
        yield f"{where or 'it'} has another form"
        return
    if any(name in schema for name in _ALTERNATIVES for schema in (part, whole)):
        yield from _of_alternatives(part, whole, where, documents=documents)
        return
    for how in (*_of_values(part, whole), *_of_limits(part, whole)):
        yield f"{where}: {how}".removeprefix(": ")
    for name in sorted({*whole.get("required", ())} - {*part.get("required", ())}):
        yield f"{where}.{name} is {'not always there' if documents else 'required'}".removeprefix(".")
    yield from _of_fields(part, whole, where, documents=documents)
    if "items" in whole:
        yield from uncovered(part.get("items", {}), whole["items"], f"{where}[]", documents=documents)


def _of_alternatives(
    part: Mapping[str, Any], whole: Mapping[str, Any], where: str, *, documents: bool
) -> Iterator[str]:
    for each in _alternatives(part):
        ways = [list(uncovered(each, other, where, documents=documents)) for other in _alternatives(whole)]
        if all(ways):
            yield from min(ways, key=len)


def _alternatives(schema: Mapping[str, Any]) -> list[Any]:
    name = next((name for name in _ALTERNATIVES if name in schema), None)
    if name is None:
        return [schema]
    rest = {key: value for key, value in schema.items() if key not in {name, "default"}}
    return [rest | each for each in schema[name]]


def _of_values(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    allowed, others = _values(whole), _values(part)
    if allowed is not None:
        if others is None:
            yield f"only {', '.join(map(str, allowed))}"
        elif left := [str(value) for value in others if value not in allowed]:
            yield f"not {', '.join(left)}"
    if types := _types(whole):
        found = _types(part) or {"anything"}
        if left := sorted(found - types - ({"integer"} if "number" in types else set())):
            yield f"not of type {', '.join(left)}"
    for name in _EQUAL:
        if name in whole and part.get(name) != whole[name]:
            yield f"another {name}: {whole[name]}"
    if whole.get("uniqueItems") and not part.get("uniqueItems"):
        yield "no repetitions"


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    found: list[Any] | None = schema.get("enum")
    return found


def _types(schema: Mapping[str, Any]) -> set[str]:
    found = schema.get("type", [])
    if not found and (values := _values(schema)) is not None:
        return {{str: "string", bool: "boolean", int: "integer"}.get(type(value), "null") for value in values}
    return {found} if isinstance(found, str) else {*found}


def _of_limits(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    for name in _LOWEST:
        if name in whole and part.get(name, float("-inf")) < whole[name]:
            yield f"{name} {whole[name]}"
    for name in _HIGHEST:
        if name in whole and part.get(name, float("inf")) > whole[name]:
            yield f"{name} {whole[name]}"


def _of_fields(part: Mapping[str, Any], whole: Mapping[str, Any], where: str, *, documents: bool) -> Iterator[str]:
    known, others = whole.get("properties", {}), part.get("properties", {})
    rest, left = whole.get("additionalProperties", True), part.get("additionalProperties", True)
    for name, each in others.items():
        if name in known:
            yield from uncovered(each, known[name], f"{where}.{name}".removeprefix("."), documents=documents)
        elif not documents and rest is False:
            yield f"{where}.{name} is gone".removeprefix(".")
        elif not documents:
            yield from uncovered(each, rest, f"{where}.{name}".removeprefix("."))
    if documents:
        yield from (f"{where}.{name} is gone".removeprefix(".") for name in known if name not in others)
    if not documents and rest is False and left is not False:
        yield f"{where or 'it'}: no other fields"
    elif rest is not False and left is not False:
        yield from uncovered(left, rest, f"{where}.*".removeprefix("."), documents=documents)
    if "propertyNames" in whole:
        yield from uncovered(part.get("propertyNames", {}), whole["propertyNames"], f"names in {where or 'it'}")
