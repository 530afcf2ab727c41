"""Decode plain data into frozen dataclasses; the type of a field is the schema of its data.

| type of a field | its data |
|---|---|
| `str`, `int`, `float`, `bool` | exactly that; an integer is also a `float` |
| a union | null for None, else data of the first type that accepts it |
| `tuple[X, ...]` | a list |
| `Mapping[K, X]` | a mapping |
| a dataclass | a mapping with a key per field; fields with a default may be absent, unknown keys are ignored |
| `Any` | anything, unchanged |
| `Annotated[X, Parsed(function)]` | a text, which the function turns into an X |
| `Annotated[X, Key("name")]` | the value of that key, instead of one with the field's name |
| `Annotated[X, SAME]` | for a dataclass: its keys, in the same mapping as those of the outer dataclass |
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


class DecodeError(ValueError):
    """The data does not match the type; the message begins with its path."""


class Limits(NamedTuple):
    """Maximum size of untrusted data: characters of a text, items of a list or mapping."""

    text: int = sys.maxsize
    items: int = sys.maxsize


_UNLIMITED = Limits()


class Key(NamedTuple):
    """The key of a field, if it is not the field's name."""

    name: str


class Parsed(NamedTuple):
    """The function that turns a text into the value."""

    function: Callable[[str], Any]


SAME = object()
"""Marks a dataclass whose keys are in the mapping of the outer one."""

_Reader: TypeAlias = Callable[..., Any]
"""Returns the value, given data, its path and the limits."""


def decode(kind: type[T], data: Any, where: str = "", limits: Limits = _UNLIMITED, **given: Any) -> T:
    """Decode `data`, from JSON or YAML, into a value of `kind`: a dataclass or another type of the table above.

    Args:
        kind: the type.
        data: the data.
        where: its path, with which messages begin.
        limits: its maximum size.
        given: fields of the dataclass that are not in the data.

    Raises:
        DecodeError: a key is missing, or a value has another type or is too large.
    """
    target: Any = kind
    value: T = _reader(target)(data, where, limits, *((given,) if given else ()))
    return value


@cache
def _reader(kind: Any) -> _Reader:
    """The reader of a type. Cached, because inspecting a type takes longer than reading data."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return lambda data, _where, _limits: data
    if origin is Annotated:
        parsers = [note.function for note in arguments if isinstance(note, Parsed)]
        return _parsed(parsers[0]) if parsers else _reader(arguments[0])
    if origin in {types.UnionType, typing.Union}:
        return _union([_reader(item) for item in sorted(arguments, key=lambda item: item is not type(None))])
    if origin is tuple:
        return _list(_reader(arguments[0]))
    if origin is Mapping:
        return _mapping(_reader(arguments[0]), _reader(arguments[1]))
    return _record(kind) if dataclasses.is_dataclass(kind) else _plain(kind)


def _record(kind: Any) -> _Reader:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = []
    for field in dataclasses.fields(kind):
        notes = getattr(hints[field.name], "__metadata__", ())
        key = next((note.name for note in notes if isinstance(note, Key)), field.name)
        required = field.default is field.default_factory is dataclasses.MISSING
        fields.append((field.name, None if SAME in notes else key, required, _reader(hints[field.name])))

    def read(data: Any, where: str, limits: Limits, given: Mapping[str, Any] = MappingProxyType({})) -> Any:
        _check_size(dict, data, where, limits)
        prefix = f"{where}." if where else ""
        found = dict(given)
        missing = []
        for name, key, required, reader in fields:
            if name in given:
                continue
            if key is None:
                found[name] = reader(data, where, limits)
            elif key in data:
                found[name] = reader(data[key], prefix + key, limits)
            elif required:
                missing.append(key)
        if missing:
            raise DecodeError(f"{where} lacks {', '.join(missing)}")
        return kind(**found)

    return read


def _parsed(function: Callable[[str], Any]) -> _Reader:
    text = _reader(str)
    return lambda data, where, limits: function(text(data, where, limits))


def _union(readers: list[_Reader]) -> _Reader:
    def read(data: Any, where: str, limits: Limits) -> Any:
        for reader in readers[:-1]:
            try:
                return reader(data, where, limits)
            except DecodeError:
                continue
        return readers[-1](data, where, limits)

    return read


def _list(item: _Reader) -> _Reader:
    def read(data: Any, where: str, limits: Limits) -> Any:
        _check_size(list, data, where, limits)
        return tuple([item(value, f"{where}[{number}]", limits) for number, value in enumerate(data)])

    return read


def _mapping(key: _Reader, item: _Reader) -> _Reader:
    def read(data: Any, where: str, limits: Limits) -> Any:
        _check_size(dict, data, where, limits)
        return {key(name, where, limits): item(value, f"{where}.{name}"[:200], limits) for name, value in data.items()}

    return read


def _plain(kind: Any) -> _Reader:
    def read(data: Any, where: str, limits: Limits) -> Any:
        if kind is float and type(data) is int:
            data = float(data)
        if kind is str and isinstance(data, str):
            data = str(data)  # Ansible's texts are of a subclass
            if len(data) > limits.text:
                raise DecodeError(f"{where} has {len(data)} characters")
        if type(data) is not kind:
            raise DecodeError(f"{where} is {type(data).__name__}, not {kind.__name__}")
        if kind in {int, float} and not abs(data) < 1 << 63:  # also refuses NaN
            raise DecodeError(f"{where} is {data!r}"[:200])
        return data

    return read


def _check_size(kind: type[list[Any] | dict[str, Any]], data: Any, where: str, limits: Limits) -> None:
    if not isinstance(data, kind):
        raise DecodeError(f"{where} is {type(data).__name__}, not {kind.__name__}")
    if len(data) > limits.items:
        raise DecodeError(f"{where} has {len(data)} items")
