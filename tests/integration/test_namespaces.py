"""A policy of a real API server about namespaces: told beforehand, and met by the inventory's labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.account.stored import validate_profile_owner
from kubeflow_volcano.rollout.patches.namespaces import label_namespaces, refused_namespaces
from kubeflow_volcano.rollout.settings.settings import parse
from tests.waiting import until

pytestmark = pytest.mark.cluster

NAME = "kfv-test-tenant"
GROUP = "admissionregistration.k8s.io/v1"
LABELS = {"environment": "system"}


def namespace(name: str, **meta: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **meta}}


def policy() -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"]}
    mine = {"name": "mine", "expression": "object.metadata.name.startsWith('kfv-test-')"}
    wanted = "has(object.metadata.labels) && object.metadata.labels[?'environment'].orValue('') == 'system'"
    return new_object(
        GROUP,
        "ValidatingAdmissionPolicy",
        NAME,
        spec={
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [mine],
            "validations": [{"expression": wanted, "message": "environment=system is missing"}],
        },
    )


def binding() -> Object:
    return new_object(
        GROUP, "ValidatingAdmissionPolicyBinding", NAME, spec={"policyName": NAME, "validationActions": ["Deny"]}
    )


@pytest.fixture
def tenancy(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster that admits the namespaces of this test only with LABELS."""
    made: list[Object] = []
    try:
        made += [cluster.apply(obj, manager="kfv-test", force=True) for obj in (policy(), binding())]
        until(lambda: refused(cluster))
        yield cluster
    finally:
        for obj in made:
            cluster.delete(Ref.of(obj), uid=obj["metadata"]["uid"])


def refused(cluster: Cluster) -> bool:
    """Whether the policy is in force."""
    try:
        cluster.create(namespace("kfv-test-any"), dry_run=True)
    except ApiError:
        return True
    return False


def test_a_policy_that_wants_a_label_is_told_and_met(tenancy: Cluster) -> None:
    settings = parse({"kubeflow_user_namespace": "kfv-test-team"})
    objects = [namespace("kfv-test-a"), namespace("kfv-test-b", labels={"own": "x"})]
    parts = {"kubeflow-namespace": objects, "user-namespace": []}
    found = [problem.found for problem in refused_namespaces(tenancy, parts, settings)]
    assert [text for text in found if "environment=system is missing" not in text] == []
    assert len(found) == 3

    labelled = parse({"kubeflow_user_namespace": "kfv-test-team", "kubeflow_namespace_labels": LABELS})
    label_namespaces(objects, labelled.namespace_labels)
    assert list(refused_namespaces(tenancy, parts, labelled)) == []
    assert tenancy.get(Ref("v1", "Namespace", "", "kfv-test-a")) is None


def test_a_namespace_without_an_owner_stands_in_the_way_of_the_profile(cluster: Cluster) -> None:
    settings = parse({"kubeflow_user_namespace": "kfv-test-none"})
    components = [settings.component("user-namespace")]
    assert list(validate_profile_owner(cluster, settings.user, components)) == []
    taken = replace(settings, user=replace(settings.user, namespace="default"))
    (problem,) = validate_profile_owner(cluster, taken.user, components)
    assert "namespace default" in problem.found
    assert "annotation owner" in problem.found
