"""Which MutatingAdmissionPolicies are asked about a pod, and what leaves pods out of webhooks and policies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.alterations import alteration
from kubeflow_volcano.cluster.admission.policies import BINDING, POLICY, VERSIONS, policies_for
from kubeflow_volcano.cluster.admission.webhooks import ways_out
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref, new_object

POD: Object = new_object("v1", "Pod", "a", "lab", spec={"schedulerName": "volcano"})
SPACE: Object = {"kind": "Namespace", "metadata": {"name": "lab", "labels": {"team": "a"}}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def policy(**constraints: Any) -> Object:
    spec = {"matchConstraints": {"resourceRules": [RULE], **constraints}}
    return {"apiVersion": VERSIONS[1], "kind": POLICY, "metadata": {"name": "placer"}, "spec": spec}


def binding(of: str = "placer", **resources: Any) -> Object:
    spec = {"policyName": of, **({"matchResources": resources} if resources else {})}
    return {"apiVersion": VERSIONS[1], "kind": BINDING, "metadata": {"name": "b"}, "spec": spec}


@pytest.mark.parametrize(
    ("objects", "called"),
    [
        ([policy(), binding()], True),
        ([policy()], False),
        ([policy(), binding("another")], False),
        ([policy(namespaceSelector={"matchLabels": {"team": "b"}}), binding()], False),
        ([policy(excludeResourceRules=[RULE]), binding()], False),
        ([policy(resourceRules=[{**RULE, "resources": ["jobs"]}]), binding()], False),
        ([policy(), binding(namespaceSelector={"matchLabels": {"team": "b"}})], False),
        ([policy(), binding(namespaceSelector={"matchLabels": {"team": "a"}})], True),
    ],
)
def test_a_policy_counts_with_a_binding_where_both_match(objects: list[Object], *, called: bool) -> None:
    assert bool([*policies_for(objects, POD, SPACE, "pods")]) is called


def test_a_policy_that_changes_a_pod_is_named_with_what_leaves_pods_out() -> None:
    chosen = {"matchExpressions": [{"key": "placed", "operator": "DoesNotExist"}]}
    served = {POLICY: [policy(namespaceSelector=chosen)], BINDING: [binding()]}

    def listed(version: str, kind: str) -> Any:
        if kind in served and version != VERSIONS[1]:
            raise NotServed(version, kind)
        return SimpleNamespace(items=served.get(kind, []))

    def create(obj: Object, **_: Any) -> Object:
        return {**obj, "spec": {**obj["spec"], "nodeSelector": {"pool": "x"}}}

    found = alteration(SimpleNamespace(create=create, list=listed, get=lambda _: SPACE), POD)  # type: ignore[arg-type]
    assert found
    assert found.hooks == (Ref(VERSIONS[1], POLICY, "", "placer"),)
    assert "label placed on" in str(found)


@pytest.mark.parametrize(
    ("selector", "way"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["off"]}]}, ["the label a=off on the pod"]),
        ({"matchLabels": {"a": "on"}}, ["no label a on the pod"]),
        ({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["x"]}]}, []),
        ({}, []),
    ],
)
def test_the_labels_that_a_selector_looks_at_are_the_way_out(selector: Object, way: list[str]) -> None:
    assert [*ways_out({"objectSelector": selector})] == way
