"""What stays of a roll-out, written down and read again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeflow_volcano.cluster.applied_objects import (
    Brought,
    Place,
    lasting_objects,
    parse,
    parse_document,
    serialize,
    to_document,
)
from kubeflow_volcano.cluster.objects import Object, Ref

ROLE = Ref("rbac.authorization.k8s.io/v1", "Role", "kubeflow", "system:x")
SPACE = Ref("v1", "Namespace", "", "kubeflow")


def job(name: str, **spec: Any) -> Object:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "n"}, "spec": spec}


def test_a_job_that_the_cluster_removes_is_not_expected_to_stay() -> None:
    assert [ref.name for ref in lasting_objects([job("b"), job("a"), job("c", ttlSecondsAfterFinished=60)])] == [
        "a",
        "b",
    ]


def test_objects_come_back_as_they_were_written() -> None:
    brought = Brought("1.9.1", {ROLE: "u1", SPACE: ""}, {"1.8.1": {Ref("v1", "Service", "kubeflow", "old"): "u2"}})
    assert parse(serialize(brought)) == brought
    whole = json.loads(json.dumps(to_document({"one": [ROLE], "two": [SPACE]}, "1.9.1")))
    assert parse_document(whole) == {ROLE: "one", SPACE: "two"}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"v1 Namespace":["kubeflow"]}',
        '{"objects": []}',
        '{"objects": {"v1 Namespace": ["a"]}}',
        '{"objects": {}, "left": [1]}',
        '{"objects": {}, "left": {"1.8.1": {"Namespace": {"a": ""}}}}',
        "{",
    ],
)
def test_a_record_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_an_object_is_in_one_place_in_every_version_of_its_group() -> None:
    old, new = (Ref(f"policy/{version}", "PodDisruptionBudget", "n", "a") for version in ("v1beta1", "v1"))
    assert Place.of(old) == Place.of(new) != Place.of(Ref("policy/v1", "PodDisruptionBudget", "m", "a"))


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"schema": "kfv.plan/v1"},
        {"schema": "kfv.objects/v1", "components": []},
        {"schema": "kfv.objects/v1", "components": {"one": {}}},
        {"schema": "kfv.objects/v1", "components": {"one": ["x"]}},
        {"schema": "kfv.objects/v1", "components": {"one": {"Namespace": ["x"]}}},
    ],
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_document(value)
