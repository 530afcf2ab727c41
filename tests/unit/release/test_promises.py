"""What a release promised is kept, and the comparison sees what is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.release.covering import inlined, uncovered
from tests.release.promises import BREAKS, RELEASED, breaks, broken, promises, render

NOW = promises()


def test_what_the_last_release_promised_is_kept_or_named_with_what_users_do_instead() -> None:
    if not RELEASED.exists():
        pytest.skip("no release has promised anything yet")
    found = list(broken(json.loads(RELEASED.read_text("utf-8")), NOW))
    assert [str(each) for each in found if each.key not in breaks()] == []
    assert [key for key in breaks() if key not in {each.key for each in found}] == [], f"{BREAKS.name} names what holds"


def test_every_promise_is_data_that_can_be_written_and_read() -> None:
    assert json.loads(render(NOW)) == NOW
    assert NOW["variables"]["kubeflow_release"]["type"] == "string"
    assert NOW["checks"]["D6"] == "consumer-can-write"
    assert NOW["exit_codes"]["3"] == "INCOMPLETE"
    assert {"report.v1", "explanation.v1"} <= NOW["schemas"].keys()
    assert "$ref" not in render(NOW)


def test_nothing_is_broken_by_what_is_added() -> None:
    new = copy.deepcopy(NOW)
    new["checks"]["Z1"] = "new"
    new["variables"]["kubeflow_new"] = {"type": "string", "default": ""}
    new["variables"]["kubeflow_release"]["default"] = "99.1"
    new["schemas"]["report.v1"]["properties"]["new"] = {"type": "string"}
    new["schemas"]["report.v1"]["required"].append("new")
    new["schemas"]["report.v2"] = {}
    new["playbooks"].append("new")
    assert list(broken(NOW, new)) == []
    assert list(broken(NOW, NOW)) == []


def _remove(kind: str, name: str) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        found[kind].pop(name) if isinstance(found[kind], dict) else found[kind].remove(name)

    return change


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *steps, last, value = path

    def change(found: dict[str, Any]) -> None:
        for step in steps:
            found = found[step]
        found[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (_remove("checks", "D6"), "checks.D6"),
        (_set("checks", "D6", "other"), "checks.D6"),
        (_remove("exit_codes", "5"), "exit_codes.5"),
        (_set("exit_codes", "5", "LEFTOVERS"), "exit_codes.5"),
        (_remove("commands", "validate"), "commands.validate"),
        (_remove("playbooks", "site"), "playbooks.site"),
        (_remove("roles", "volcano"), "roles.volcano"),
        (_remove("schemas", "report.v1"), "schemas.report.v1"),
        (_set("schemas", "report.v1", "required", ["run"]), "schemas.report.v1"),
        (_remove("variables", "volcano_version"), "variables.volcano_version"),
        (_set("variables", "kubeflow_prune", "type", "string"), "variables.kubeflow_prune"),
        (_set("variables", "kubeflow_prune", "default", True), "variables.kubeflow_prune"),  # noqa: FBT003 - a value
        (_set("variables", "image_mirror_mode", "enum", ["none"]), "variables.image_mirror_mode"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_vanished_or_means_something_else_is_found(change: Callable[[dict[str, Any]], None], key: str) -> None:
    new = copy.deepcopy(NOW)
    change(new)
    found = list(broken(NOW, new))
    assert {each.key for each in found} == {key}
    assert "tests/release/breaks.yaml" in str(found[0])


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}, []),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 2}, ["minimum 2"]),
        ({"type": "integer"}, {"type": "integer", "maximum": 9}, ["maximum 9"]),
        ({"type": "integer"}, {"type": "number"}, []),
        ({"type": ["string", "null"]}, {"type": "string"}, ["not of type null"]),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}, []),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, ["not b"]),
        ({"enum": ["a", "b"]}, {"type": "string"}, []),
        ({"type": "string"}, {"enum": ["a"]}, ["only a", "not of type string"][:1]),
        ({"type": "string"}, {"type": "string", "pattern": "^a"}, ["another pattern: ^a"]),
        ({"type": "string"}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"type": "string"}, ["not of type integer"]),
        ({"items": {"type": "string"}}, {"items": {"type": "integer"}}, ["[]: not of type string"]),
        (
            {"properties": {"a": {}}},
            {"properties": {}, "additionalProperties": False},
            ["a is gone", "it: no other fields"],
        ),
        ({"properties": {"a": {}}}, {"properties": {"a": {}}, "required": ["a"]}, ["a is required"]),
        (
            {"properties": {"a": {"properties": {"b": {"type": "string"}}}}},
            {"properties": {"a": {"properties": {"b": {"type": "boolean"}}}}},
            ["a.b: not of type string"],
        ),
    ],
)
def test_a_schema_covers_another(old: dict[str, Any], new: dict[str, Any], left: list[str]) -> None:
    assert list(uncovered(old, new)) == left


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ({"required": ["a"], "properties": {"a": {}}}, {"required": ["a"], "properties": {"a": {}, "b": {}}}, []),
        ({"required": ["a"], "properties": {"a": {}}}, {"properties": {"a": {}}}, ["a is not always there"]),
        ({"properties": {"a": {}}}, {"properties": {}}, ["a is gone"]),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, ["not b"]),
        ({"additionalProperties": False, "properties": {}}, {"properties": {"b": {}}}, []),
    ],
)
def test_a_document_has_what_programs_read(old: dict[str, Any], new: dict[str, Any], left: list[str]) -> None:
    assert list(uncovered(new, old, documents=True)) == left


def test_definitions_take_the_place_of_references() -> None:
    schema = {"$defs": {"a": {"type": "string", "title": "A"}}, "properties": {"title": {"$ref": "#/$defs/a"}}}
    assert inlined(schema) == {"properties": {"title": {"type": "string"}}}
