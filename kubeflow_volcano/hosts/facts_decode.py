"""Plain data from a host becomes values of frozen dataclasses, or is refused: what a host says is not to be trusted."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

__all__ = ["Misshapen", "decoded"]

T = TypeVar("T")

LONGEST_TEXT = 4_000
MOST_ITEMS = 5_000


class Misshapen(ValueError):  # noqa: N818  it says what the data is
    """Data that is not what the module of this version answers; the message says where."""


def decoded(kind: type[T], data: Any, where: str) -> T:
    """`data` as a value of `kind`: a dataclass, or one of the types that its fields may have.

    Fields are str, int, float, bool, a union with None, tuple[X, ...], Mapping[str, X] or another dataclass. Every
    field must be there; keys that are not known are left out, as a newer module may say more.

    Raises:
        Misshapen: something is missing, of another type, or larger than anything honest.
    """
    value: T = _value(kind, data, where)
    return value


def _value(kind: Any, data: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if data is None else _value(arguments[0], data, where)
    if origin is tuple:
        _sized(list, data, where)
        return tuple(_value(arguments[0], item, f"{where}[{number}]") for number, item in enumerate(data))
    if origin is Mapping:
        _sized(dict, data, where)
        return {
            _value(str, key, where): _value(arguments[1], item, f"{where}.{key}"[:200]) for key, item in data.items()
        }
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, where)
    return _plain(kind, data, where)


def _record(kind: Any, data: Any, where: str) -> Any:
    _sized(dict, data, where)
    hints = typing.get_type_hints(kind)
    names = [item.name for item in dataclasses.fields(kind)]
    if missing := [name for name in names if name not in data]:
        raise Misshapen(f"{where} lacks {', '.join(missing)}")
    return kind(**{name: _value(hints[name], data[name], f"{where}.{name}") for name in names})


def _plain(kind: Any, data: Any, where: str) -> Any:
    if kind is float and type(data) is int:
        data = float(data)
    if type(data) is not kind and not (kind is str and isinstance(data, str)):
        raise Misshapen(f"{where} is {type(data).__name__}, not {kind.__name__}")
    if isinstance(data, str):
        if len(data) > LONGEST_TEXT:
            raise Misshapen(f"{where} has {len(data)} characters")
        return str(data)
    if not isinstance(data, bool) and not abs(data) < 1 << 63:  # not a number is not smaller either
        raise Misshapen(f"{where} is {data!r}"[:200])
    return data


def _sized(kind: type[list[Any] | dict[str, Any]], data: Any, where: str) -> None:
    if not isinstance(data, kind):
        raise Misshapen(f"{where} is {type(data).__name__}, not {kind.__name__}")
    if len(data) > MOST_ITEMS:
        raise Misshapen(f"{where} has {len(data)} items")
