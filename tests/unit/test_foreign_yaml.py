"""YAML is read as Kubernetes reads it, and trouble is told with its place."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kubeflow_volcano.foreign import parse
from kubeflow_volcano.problems import InvalidInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30", "12:30"),
        ("2020-01-01", "2020-01-01"),
        ("=", "="),
        ("0644", 0o644),
        ("0o17", 15),
        ("0x1F", 31),
        ("-5", -5),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("1.10", 1.1),
        ("-.inf", -math.inf),
        ("yes", True),
        ("~", None),
        ("'yes'", "yes"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    assert parse(f"a: {text}", "f") == [{"a": value}]


def test_documents_that_are_empty_do_not_count() -> None:
    assert parse("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n", "f") == [{"a": 1}, {"b": 2}]


def test_merge_keys_work() -> None:
    assert parse("a: &x {b: 1}\nc: {<<: *x, d: 2}", "f") == [{"a": {"b": 1}, "c": {"b": 1, "d": 2}}]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1", "duplicate key 'a'"),
        ("x:\n  - {c: 1, c: 2}\n", "f.yaml:2:12", "duplicate key 'c'"),
        ("on: 1\n", "f.yaml:1:1", "not text"),
        ("a:\n\t- b\n", "f.yaml:2:1", "token"),
        ("a: b: c\n", "f.yaml:1:5", "not allowed"),
        ("1: a\n", "f.yaml:1:1", "the key '1' is not text; put it in quotes"),
        ("a: {null: b}\n", "f.yaml:1:5", "the key 'null' is not text"),
        ("? [a]\n: b\n", "f.yaml:1:3", "a list is no key"),
        ("? !!str [a]\n: b\n", "f.yaml:1:3", "a list is no key"),
        ("{a: b}: c\n", "f.yaml:1:1", "a mapping is no key"),
        ("<<: {1: a}\n", "f.yaml:1:6", "the key '1' is not text"),
        ("!!map a\n", "f.yaml:1:1", "tagged as a mapping, and is none"),
        ("a: !!set {b}\n", "f.yaml:1:4", "the tag !!set"),
        ("a: &x {b: [*x]}\n", "f.yaml", "without end"),
    ],
)
def test_trouble_has_file_line_and_column(text: str, place: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text, "f.yaml")
    found = caught.value.problems[0].found
    assert found.startswith(place)
    assert words in found


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"f\.yaml"):
        parse(b"a: \xc3\x28\n", "f.yaml")
