"""Edits of the text of a manifest: nothing else of it changes."""

from __future__ import annotations

import json

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.validators.explain.manifest.edits import Edit, apply

BLOCK = """\
# what this is
---
spec:   # of a job
  # why
  old: volcano  # here
  tasks:
  - old: x
    name: "first"

  - name: second
    template:
---
---
other: {a: 1, old: x, "b": [1,  2]}
"""
JSON = '{"spec": {"old": "x", "empty": {}, "a": 1}}'


@pytest.mark.parametrize(
    ("text", "number", "edits", "before", "after"),
    [
        (BLOCK, 1, [Edit(("spec", "old"))], "  old: volcano  # here\n", ""),
        (BLOCK, 1, [Edit(("spec", "old"), "other")], "old: volcano  # here", "old: other  # here"),
        (BLOCK, 1, [Edit(("spec", "tasks", 0, "name"), "a")], '"first"', '"a"'),
        (BLOCK, 1, [Edit(("spec", "tasks", 0, "old"))], "  - old: x\n    name", "  - name"),
        (BLOCK, 1, [Edit(("spec", "new"), "x")], "  # why\n  old", "  # why\n  new: x\n  old"),
        (BLOCK, 1, [Edit(("spec", "tasks", 1, "new"), "x")], "- name: second", "- new: x\n    name: second"),
        (
            BLOCK,
            1,
            [Edit(("spec", "tasks", 1, "template", "spec", "a.b/c"), "false")],
            "template:",
            'template: {spec: {a.b/c: "false"}}',
        ),
        (BLOCK, 2, [Edit(("other", "old"))], "a: 1, old: x, ", "a: 1, "),
        (BLOCK, 2, [Edit(("other", "b"))], ', "b": [1,  2]}', "}"),
        (BLOCK, 2, [Edit(("other", "new"), "x")], "{a: 1", "{new: x, a: 1"),
        (JSON, 1, [Edit(("spec", "old"), "y")], '"old": "x"', '"old": "y"'),
        (JSON, 1, [Edit(("spec", "empty", "a", "b"), "x")], "{},", '{"a": {"b": "x"}},'),
    ],
)
def test_only_its_place_changes(text: str, number: int, edits: list[Edit], before: str, after: str) -> None:
    assert text.count(before) == 1
    assert apply(text, number, edits) == text.replace(before, after)


def test_the_only_entry_leaves_an_empty_mapping() -> None:
    assert apply("a:\n  b: 1\nc: 2\n", 1, [Edit(("a", "b"))]) == "a:\n  {}\nc: 2\n"
    assert apply("a: {b: 1}\n", 1, [Edit(("a", "b"))]) == "a: {}\n"


def test_json_stays_json() -> None:
    changed = apply(JSON, 1, [Edit(("spec", "new"), "false"), Edit(("spec", "old"))])
    assert changed is not None
    assert json.loads(changed) == {"spec": {"new": "false", "empty": {}, "a": 1}}


SHARED = "a: &t {x: 1, z: &s 2}\nb: *t\nc: *s\n"


def test_an_alias_is_changed_for_all_or_not_at_all() -> None:
    assert apply(SHARED, 1, [Edit(("a", "new"), "z")]) is None
    changed = apply(SHARED, 1, [Edit(("a", "new"), "z"), Edit(("b", "new"), "z")])
    assert changed is not None
    assert foreign.parse(changed, "") == [
        {"a": {"x": 1, "z": 2, "new": "z"}, "b": {"x": 1, "z": 2, "new": "z"}, "c": 2}
    ]
    removed = apply(SHARED, 1, [Edit(("a", "x")), Edit(("b", "x"))])
    assert removed == "a: &t {z: &s 2}\nb: *t\nc: *s\n"
    assert apply(SHARED, 1, [Edit(("a", "z"), "w"), Edit(("b", "z"), "w")]) is None, "c has it, too"


def test_a_merged_key_is_overridden_where_it_is_used() -> None:
    changed = apply("a: &t {x: old}\nb:\n  <<: *t\n  y: 1\n", 1, [Edit(("b", "x"), "new")])
    assert changed is not None
    assert foreign.parse(changed, "")[0]["b"] == {"x": "new", "y": 1}
