"""Fields of declared objects that are left to others, as an autoscaler's replicas.

A field is set when the object is created, and never after: it is taken out of what is applied. A field that only this
project's manager owns would then be reset to its default, so the manager first gives it up in metadata.managedFields,
which keeps the value (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kubeflow_volcano.apply.compare import is_item, own_entry
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_json

Pointer: TypeAlias = tuple[str, ...]
"""The parts of a JSON Pointer (RFC 6901): `("spec", "replicas")` for `/spec/replicas`."""

REPLICAS: Pointer = ("spec", "replicas")

ATOMIC = "has one owner as a whole"
"""What the message says of a field whose parts cannot be left to others."""


def as_pointer(text: str) -> Pointer:
    """The parts of a pointer's text, in which `~1` is a slash and `~0` a tilde."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def as_text(pointer: Pointer) -> str:
    """The text of a pointer."""
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in pointer)


def declares(obj: Object, pointer: Pointer) -> bool:
    """Whether the object has that field. An item of a list is no field."""
    return _parent(obj, pointer) is not None


def without(obj: Object, pointers: Sequence[Pointer]) -> Object:
    """The object without these fields; the same object if it has none of them."""
    if not any(declares(obj, pointer) for pointer in pointers):
        return obj
    left = copy.deepcopy(obj)
    for pointer in pointers:
        if (parent := _parent(left, pointer)) is not None:
            del parent[pointer[-1]]
    return left


def owns(live: Object, declared: Object, pointers: Sequence[Pointer]) -> bool:
    """Whether this project owns one of the fields.

    Raises:
        ApiError: a field is part of a list or mapping that is only owned as a whole.
    """
    return bool([pointer for pointer in pointers if _owned(live, declared, pointer)])


def give_up(live: Object, declared: Object, pointers: Sequence[Pointer]) -> bool:
    """Remove the fields from what this project owns in the managedFields of `live`; returns whether it owned one.

    Raises:
        ApiError: as in `owns`.
    """
    changed = False
    for pointer in pointers:
        if steps := _owned(live, declared, pointer):
            _drop((own_entry(live) or {})["fieldsV1"], steps)
            changed = True
    return changed


def with_live_values(obj: Object, live: Object, pointers: Sequence[Pointer]) -> Object:
    """The object with the live values of those fields that this project still owns, and without the others.

    A dry run of it has the result that applying has after the fields were given up.

    Raises:
        ApiError: as in `owns`.
    """
    owned = {pointer: steps for pointer in pointers if (steps := _owned(live, obj, pointer))}
    sent = copy.deepcopy(without(obj, [pointer for pointer in pointers if pointer not in owned]))
    for pointer, steps in owned.items():
        parent, value = _parent(sent, pointer), _value(live, steps)
        if parent is not None and value is not None:
            parent[pointer[-1]] = value
    return sent


def find_pointer(obj: Any, path: str) -> Pointer | None:
    """The pointer to a field that a conflict names, such as `.spec.template.spec.containers[name="manager"].image`.

    None if `obj` has no such field, or the path ends at an item of a list.
    """
    if isinstance(obj, Mapping) and path.startswith("."):
        for key, value in obj.items():
            after = path.removeprefix(f".{key}")
            if not after:
                return (str(key),)
            if after != path and (rest := find_pointer(value, after)):
                return (str(key), *rest)
    if isinstance(obj, list) and path.startswith("["):
        inside, _, after = path[1:].partition("]")
        for number, item in enumerate(obj):
            if is_item(item, dict(_key(inside))) and (rest := find_pointer(item, after)):
                return (str(number), *rest)
    return None


def _key(text: str) -> Iterator[tuple[str, Any]]:
    """The key of a list item in a conflict's path: `containerPort=80,protocol="TCP"`."""
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            yield name, _parsed(value)


def _parsed(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text


def _parent(obj: Any, pointer: Pointer) -> dict[str, Any] | None:
    """The mapping that has the field."""
    for part in pointer[:-1]:
        if isinstance(obj, list):
            obj = obj[int(part)] if part.isdecimal() and int(part) < len(obj) else None
        else:
            obj = obj.get(part) if isinstance(obj, dict) else None
    return obj if isinstance(obj, dict) and pointer[-1] in obj else None


def _owned(live: Object, declared: Any, pointer: Pointer) -> Sequence[str]:
    """The keys of managedFields that lead to a field; empty if this project does not own it."""
    entry = own_entry(live)
    fields: Any = (entry or {}).get("fieldsV1") or {}
    if not declares(declared, pointer):
        return ()
    steps: list[str] = []
    for part in pointer:
        if steps and not fields:
            text, whole = as_text(pointer), as_text(pointer[: len(steps)])
            raise ApiError(0, "Atomic", f"{text} cannot be left to others alone: {whole} {ATOMIC}")
        if isinstance(declared, list):
            declared = declared[int(part)]
            step = next((key for key in fields if key.startswith("k:") and is_item(declared, read_json(key[2:]))), "")
        else:
            declared, step = declared[part], f"f:{part}"
        if step not in fields:
            return ()
        steps.append(step)
        fields = fields[step]
    return steps


def _drop(fields: dict[str, Any], steps: Sequence[str]) -> None:
    """Remove a field, and parents of which nothing is left: an empty one would own the whole parent."""
    step, *rest = steps
    if rest:
        _drop(fields[step], rest)
    if not rest or not fields[step]:
        del fields[step]


def _value(live: Any, steps: Sequence[str]) -> Any:
    """The live value of a field; None if it has none, as the API server drops zero values."""
    for step in steps:
        kind, _, text = step.partition(":")
        if kind == "f":
            live = (live or {}).get(text)
        else:
            live = next((item for item in live or () if is_item(item, read_json(text))), None)
    return live
