"""Further facts as plain data and back: the return type of what fetches a fact is the schema of its data."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.core.facts import Fact
from kubeflow_volcano.validators.subjects.pods import WINDOW, Window


def plain(value: Any) -> Any:
    """A value of a fact as texts, numbers, lists and mappings; a mapping with other keys is a list of pairs."""
    if isinstance(value, Ref):
        return f"{value.api_version} {value.kind} {value.namespace}/{value.name}"
    if dataclasses.is_dataclass(value):
        fields = ((item, getattr(value, item.name)) for item in dataclasses.fields(value))
        return {item.name: plain(found) for item, found in fields if found != item.default}
    if isinstance(value, bytes):
        return value.decode("ascii")
    if isinstance(value, Mapping):
        pairs = [(plain(key), plain(found)) for key, found in value.items()]
        named = all(isinstance(key, str) for key, _ in pairs)
        return dict(pairs) if named else [list(pair) for pair in pairs]
    if isinstance(value, frozenset):
        return sorted(map(plain, value))
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def read_back(fact: Fact[Any], data: Any) -> Any:
    """The value of this fact that `plain` made the data of."""
    kind = Window | None if fact is WINDOW else typing.get_type_hints(fact.fetch)["return"]
    return _read(kind, data)


def _read(kind: Any, data: Any) -> Any:  # noqa: PLR0911  one line for each kind of type
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        return None if data is None else _read(next(item for item in parts if item is not types.NoneType), data)
    if kind is Ref:
        api_version, name_of_kind, place = data.split()
        namespace, _, name = place.rpartition("/")
        return Ref(api_version, name_of_kind, namespace, name)
    if kind is bytes:
        return data.encode("ascii")
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _read(hints[name], found) for name, found in data.items()})
    if origin is Mapping:
        pairs = data.items() if isinstance(data, dict) else data
        return {_read(parts[0], key): _read(parts[1], found) for key, found in pairs}
    if origin in {frozenset, tuple} and not isinstance(data, list):
        raise TypeError(f"{data!r:.80} is no list: record the cluster again")
    if origin is frozenset:
        return frozenset(_read(parts[0], item) for item in data)
    if origin is tuple:
        kinds = [parts[0]] * len(data) if parts[-1] is Ellipsis else parts
        return tuple(_read(item, found) for item, found in zip(kinds, data, strict=True))
    return data
