"""What the catalog expects, flattened; and the rules that are asked for."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.problems import InvalidInput
from validators.collect import unread
from validators.expectations import expect, release_of
from validators.model import Rule
from validators.permissions import as_yaml, operator_rules
from validators.testing import ref


def test_the_training_profile_expects_storage_volcano_and_the_operator() -> None:
    found = expect("1.9.1")
    assert found.workloads[ref("Deployment", "volcano-system/volcano-scheduler")] == "volcano"
    assert found.workloads[ref("Deployment", "kubeflow/training-operator")] == "training-operator"
    assert found.workloads[ref("Deployment", "local-path-storage/local-path-provisioner")] == "local-path"
    assert found.crds["queues.scheduling.volcano.sh"] == "volcano"
    assert {"kube-system", "kubeflow", "volcano-system"} <= found.namespaces
    assert found.kubernetes.covers("v1.30.2")


def test_a_list_of_components_expects_no_more_than_them() -> None:
    assert set(expect("1.9.1", ("local-path",)).workloads.values()) == {"local-path"}


def test_what_the_catalog_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"0\.0\.0"):
        expect("0.0.0")
    with pytest.raises(InvalidInput, match="1999"):
        expect("1.9.1", volcano_version="1999")


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("docker.io/kubeflow/training-operator:v1-04f9f13", "1.9.1"),
        ("mirror.example:5000/x/training-operator:v1-04f9f13@sha256:0", "1.9.1"),
        ("kubeflow/training-operator:latest", ""),
        ("", ""),
    ],
)
def test_the_release_is_known_by_the_operators_image(image: str, release: str) -> None:
    assert release_of(image) == release


def test_rules_are_told_as_they_stand_in_a_role() -> None:
    assert as_yaml([Rule("list", "", "pods")]) == "- {apiGroups: [''], resources: ['pods'], verbs: ['list']}"
    rules = {str(rule) for rule in operator_rules(["tfjobs"])}
    assert {"create podgroups.scheduling.volcano.sh", "update tfjobs/finalizers.kubeflow.org"} <= rules
    assert len(rules) == 8


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (401, "Forbidden"), (0, "Unreachable")])
def test_why_something_was_not_read_is_told_apart(status: int, reason: str) -> None:
    found = unread("pods", ApiError(status, "X", "the server's own words"))
    assert found.reason == reason
    assert "the server's own words" in found.message
    assert ("resources: ['pods']" in found.todo) is (reason == "Forbidden")
