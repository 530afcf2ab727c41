"""Plain data becomes values of dataclasses by the types of their fields, or is refused with the place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

import pytest

from kubeflow_volcano.decode import SAME, DecodeError, Key, Limits, Parsed, decode

Number: TypeAlias = Annotated[int, Parsed(int)]


@dataclass(frozen=True)
class Part:
    """A record with a default."""

    name: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Group:
    """A group of keys in another record."""

    other: Annotated[bool, Key("whole_other")]
    word: Annotated[str, Key("whole_word")] = field(repr=False)


@dataclass(frozen=True)
class Whole:
    """Every type."""

    part: Part
    parts: Mapping[str, Part]
    number: Annotated[Number, Key("text")]
    group: Annotated[Group, SAME]
    maybe: float | None
    either: bool | Mapping[str, Any]
    given: object


DATA: dict[str, Any] = {
    "part": {"name": "a", "sizes": [1, 2], "unknown": 7},
    "parts": {"b": {"name": "b"}},
    "text": "12",
    "whole_other": True,
    "whole_word": "s",
    "maybe": 1,
    "either": {"x": [None]},
}
WHOLE = Whole(Part("a", (1, 2)), {"b": Part("b")}, 12, Group(other=True, word="s"), 1.0, {"x": [None]}, "given")


def test_every_type_is_read() -> None:
    assert decode(Whole, DATA, given="given") == WHOLE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"part": None}, "whole.part is NoneType, not dict"),
        ({"part": {}}, "whole.part lacks name"),
        ({"part": {"name": 1}}, "whole.part.name is int, not str"),
        ({"part": {"name": "a", "sizes": [1, True]}}, "whole.part.sizes[1] is bool, not int"),
        ({"part": {"name": "a", "sizes": "12"}}, "whole.part.sizes is str, not list"),
        ({"parts": {"b": {"name": None}}}, "whole.parts.b.name is NoneType, not str"),
        ({"parts": {1: {}}}, "whole.parts is int, not str"),
        ({"text": 12}, "whole.text is int, not str"),
        ({"whole_other": "yes"}, "whole.whole_other is str, not bool"),
        ({"maybe": "1"}, "whole.maybe is str, not float"),
        ({"maybe": float("inf")}, "whole.maybe is inf"),
        ({"either": 1}, "whole.either is int, not dict"),
    ],
)
def test_other_data_is_refused_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(Whole, DATA | change, "whole", given=None)
    assert str(caught.value) == message


def test_every_missing_key_is_named() -> None:
    with pytest.raises(DecodeError, match=r"^whole lacks part, text, maybe$"):
        decode(Whole, {key: DATA[key] for key in ("parts", "whole_other", "whole_word", "either")}, "whole", given=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [({"name": "abcd"}, "name has 4 characters"), ({"name": "a", "sizes": [1, 2, 3, 4]}, "sizes has 4 items")],
)
def test_limits_are_for_data_of_unknown_origin(data: dict[str, Any], message: str) -> None:
    decode(Part, data)
    with pytest.raises(DecodeError, match=message):
        decode(Part, data, limits=Limits(text=3, items=3))


def test_a_text_of_a_kind_of_its_own_becomes_plain() -> None:
    class Tagged(str):
        __slots__ = ()

    assert type(decode(Part, {"name": Tagged("a")}).name) is str
