"""Entries of kubeflow_ceded_fields: which objects they select, and which are refused before the first change."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.ceded import CededFields, ceded_of, validate_ceded
from kubeflow_volcano.rollout.settings.settings import parse

REPLICAS = "/spec/replicas"


def deployment(name: str = "katib-ui", namespace: str = "kubeflow") -> Object:
    return new_object("apps/v1", "Deployment", name, namespace, spec={"replicas": 1})


def entry(**changes: Any) -> CededFields:
    return CededFields(**{"kind": "Deployment", "name": "katib-ui", "paths": (REPLICAS,), **changes})


def given(**entries: Any) -> tuple[CededFields, ...]:
    return parse({"kubeflow_ceded_fields": [{"kind": "Deployment", "name": "a", "paths": [REPLICAS], **entries}]}).ceded


def test_an_entry_of_the_inventory_is_read() -> None:
    assert parse({}).ceded == ()
    (found,) = given(namespace="n", group="apps")
    assert found == CededFields("Deployment", "a", "n", "apps", paths=(REPLICAS,))


@pytest.mark.parametrize(
    "wrong",
    [
        {"paths": []},
        {"paths": ["spec/replicas"]},
        {"paths": [".spec.replicas"]},
        {"paths": ["/spec/a~b"]},
        *({"paths": [path]} for path in ("/", "/kind", "/apiVersion", "/metadata", "/metadata/name")),
        {"jsonPointers": [REPLICAS]},
        {"name": ""},
    ],
)
def test_an_entry_without_a_name_or_a_pointer_to_a_field_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"kubeflow_ceded_fields\[0\]") as caught:
        given(**wrong)
    assert "/spec/replicas" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "selected"),
    [
        ({}, True),
        ({"namespace": "kubeflow", "group": "apps"}, True),
        ({"namespace": "other"}, False),
        ({"group": "batch"}, False),
        ({"kind": "StatefulSet"}, False),
        ({"name": "katib"}, False),
    ],
)
def test_an_entry_selects_by_kind_and_name_and_what_else_it_has(changes: Any, *, selected: bool) -> None:
    assert entry(**changes).selects(Ref.of(deployment())) is selected
    assert ceded_of([entry(**changes)], deployment()) == ((("spec", "replicas"),) if selected else ())


def test_only_declared_fields_are_ceded_and_each_once() -> None:
    entries = [entry(), entry(paths=(REPLICAS, "/spec/paused"))]
    assert ceded_of(entries, deployment()) == (("spec", "replicas"),)


def test_an_entry_about_no_object_is_refused_if_the_run_has_all_of_them() -> None:
    wrong = entry(name="katib-iu", namespace="kubeflow")
    (problem,) = validate_ceded([entry(), wrong], [deployment()], whole=True)
    assert re.match(r"kubeflow_ceded_fields\[1\] .*Deployment kubeflow/katib-iu\b", problem.found)
    assert "katib-ui?" in problem.found
    assert not [*validate_ceded([wrong], [deployment()], whole=False)]


@pytest.mark.parametrize("whole", [True, False])
def test_a_path_to_no_declared_field_is_refused(*, whole: bool) -> None:
    entries = [entry(paths=(REPLICAS, "/spec/replica"))]
    (problem,) = validate_ceded(entries, [deployment(), deployment(namespace="other")], whole=whole)
    assert re.fullmatch(r"kubeflow_ceded_fields\[0\]: .*Deployment katib-ui .*/spec/replica\.", problem.found)


def test_the_plain_values_of_a_secret_are_its_data() -> None:
    secret = new_object("v1", "Secret", "s", "n", stringData={"a": "b"})
    ceded = CededFields("Secret", "s", paths=("/data/a",))
    assert not [*validate_ceded([ceded], [secret], whole=True)]
