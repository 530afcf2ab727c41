"""What others wrote is read with limits, and nowhere else."""

from __future__ import annotations

import ast
import itertools
import json
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.foreign import (
    MOST_DEPTH,
    CLoader,
    PurePythonLoader,
    compose_yaml,
    parse,
    read_json,
    read_toml,
    read_yaml,
    read_yamls,
)
from kubeflow_volcano.problems import InvalidInput
from tests.places import ROOT

DEEP = ("[" * 100_000, "{a: " * 100_000, "- " * 100_000, "[" * 900 + "]" * 900, "a: &a [*a]", "&a {b: {c: *a}}")
_NAMES = "abcdefghi"
BOMB = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in itertools.pairwise(_NAMES)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n" for before, name in itertools.pairwise(_NAMES)
)


@pytest.mark.parametrize("text", [*DEEP, BOMB, MERGES], ids=lambda text: text[:12])
@pytest.mark.parametrize(
    ("read", "refusal"),
    [
        (read_yaml, yaml.YAMLError),
        (lambda text: list(read_yamls(text)), yaml.YAMLError),
        (lambda text: list(compose_yaml(text)), yaml.YAMLError),
        (lambda text: list(compose_yaml(text, PurePythonLoader)), yaml.YAMLError),
        (lambda text: parse(text, "f"), InvalidInput),
    ],
)
def test_yaml_beyond_the_limits_is_refused_at_once(
    read: Callable[[str], Any], refusal: type[Exception], text: str
) -> None:
    started = time.process_time()
    with pytest.raises(refusal):
        read(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    ["a: 2024-13-45", "a: 2024-02-30", "1" * 5000, "!!int x", "!!int ''", "!!float ''", "!!bool x", "!!timestamp x"],
    ids=lambda text: text[:12],
)
def test_a_value_that_is_not_of_its_type_is_no_yaml(text: str) -> None:
    for loader in (CLoader, PurePythonLoader):
        with pytest.raises(yaml.YAMLError):
            list(read_yamls(text, loader))
    with pytest.raises(yaml.YAMLError):
        read_yaml(text)
    if text.startswith(("!!", "1")):
        with pytest.raises(InvalidInput):
            parse(text, "f")


def test_aliases_of_ordinary_size_stay() -> None:
    assert read_yaml("a: &a {b: 1}\nc: [*a, *a]\nd: {<<: *a, e: '*&'}") == {
        "a": {"b": 1},
        "c": [{"b": 1}] * 2,
        "d": {"b": 1, "e": "*&"},
    }


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, "["])
def test_json_beyond_the_limits_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"inside each other|Expecting"):
        read_json(text)


@pytest.mark.parametrize("value", [1, "a", None, [], {}, [[]], {"a": [{"b": {}}, 1]}, [1, [2]], [{}, {"a": []}]])
def test_other_json_is_read(value: Any) -> None:
    assert read_json(json.dumps(value)) == value


def test_the_depth_that_is_allowed_is_read() -> None:
    assert read_json("[" * MOST_DEPTH + "]" * MOST_DEPTH)
    assert read_yaml("[" * (MOST_DEPTH - 1) + "]" * (MOST_DEPTH - 1))
    with pytest.raises(ValueError, match="inside each other"):
        read_json("[1, " * (MOST_DEPTH + 2) + "0" + "]" * (MOST_DEPTH + 2))


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, "a = " + "[" * 300 + "]" * 300, "a = " + "9" * 5_000])
def test_toml_beyond_the_limits_is_no_toml(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        read_toml(text)


OWN = {
    "kubeflow_volcano/foreign.py": "the reader",
    "kubeflow_volcano/rollout/patches/pods/profile_store.py": "runs in a pod, without this package",
    "validators/language/catalog.py": "this project's own files",
}
"""Modules that read without limits, and why. What runs in a rehearsal's node or on hosts has the standard library."""
READERS = {
    "json": {"load", "loads"},
    "tomllib": {"load", "loads"},
    "yaml": {"load", "load_all", "safe_load", "safe_load_all", "full_load", "compose", "compose_all", "parse", "scan"},
}


def test_nothing_else_reads_what_others_wrote() -> None:
    found: list[str] = []
    for top in ("kubeflow_volcano", "validators", "gang_demo", "plugins/action", "plugins/plugin_utils"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name not in OWN and not name.startswith("kubeflow_volcano/rehearsal/inside/"):
                found += [f"{name}:{line}" for line in _readers(path)]
    assert found == []


def _readers(path: Path) -> list[int]:
    text = path.read_text("utf-8")
    if not any(f"import {name}" in text for name in READERS):
        return []
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in READERS.get(node.value.id, ())
    ]
