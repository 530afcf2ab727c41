"""Values leave Ansible's templating as plain Python values, in every supported ansible-core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.values import Variables, plain
from tests.places import ROOT


class Unsafe(str):
    """As ansible-core before 2.19 marks what came from a host."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class Number(int):
    """An integer that remembers where it came from."""


class Lazy(Mapping[Any, Any]):
    """A mapping of Ansible's own."""

    def __init__(self, content: dict[Any, Any]) -> None:
        self._content = content

    def __getitem__(self, key: Any) -> Any:
        return self._content[key]

    def __iter__(self) -> Any:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


def kinds(value: Any) -> Any:
    if isinstance(value, dict):
        return {(type(key), key): kinds(item) for key, item in value.items()}
    return [kinds(item) for item in value] if type(value) is list else type(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Unsafe("a"), "a"),
        (Number(4), 4),
        (True, True),
        (None, None),
        (1.5, 1.5),
        (Lazy({Unsafe("a"): (Unsafe("b"), {Unsafe("c"): Number(1)})}), {"a": ["b", {"c": 1}]}),
    ],
)
def test_whatever_a_value_is_in_ansible_it_is_plain_in_a_plugin(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    assert kinds(plain(value)) == kinds(expected)


def test_a_variable_is_templated_when_it_is_read_and_not_before() -> None:
    class Templar:
        def template(self, value: str) -> str:
            if "nobody" in value:
                raise ValueError(value)
            return Unsafe(value.upper())

    variables = Variables({"a": "x", "b": "{{ nobody_knows }}"}, Templar())
    assert type(variables["a"]) is str
    assert (variables["a"], "b" in variables, len(variables), [*variables]) == ("X", True, 2, ["a", "b"])
    with pytest.raises(ValueError, match="nobody"):
        variables["b"]


def test_no_plugin_reads_variables_past_them() -> None:
    """The raw ones of the task, and those that Ansible templates for another host."""
    texts = {path.stem: path.read_text("utf-8") for path in (ROOT / "plugins/action").glob("*.py")}
    assert [name for name, text in texts.items() if "_task_vars" in text or "hostvars" in text] == []
