"""The smallest objects that a schema admits, and labels that a selector matches."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.minimal_objects import labels_matching, minimal_object, minimal_value
from kubeflow_volcano.cluster.admission.webhooks import Webhook, selects
from kubeflow_volcano.cluster.objects import Object, Ref

OWNER = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "hook")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, {}),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {}}}, {"a": "x"}),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "string", "enum": ["one", "two"]}, "one"),
        ({"type": "integer", "default": 7}, 7),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "minItems": 2, "items": {"type": "boolean"}}, [False, False]),
        ({"x-kubernetes-int-or-string": True}, 1),
        ({"required": ["a"], "properties": {"a": {"required": ["b"], "properties": {"b": {}}}}}, {"a": {"b": {}}}),
    ],
)
def test_minimal(schema: dict[str, Any], value: Any) -> None:
    assert minimal_value(schema) == value


def hook(resource: str, group: str = "", *, operation: str = "CREATE") -> Webhook:
    rule = {"operations": [operation], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}
    return Webhook(OWNER, {"name": "w.example.com", "rules": [rule]})


def crd(scope: str) -> Object:
    schema = {"properties": {"spec": {"required": ["size"], "properties": {"size": {"type": "integer"}}}}}
    versions = [{"name": name, "served": True, "schema": {"openAPIV3Schema": schema}} for name in ("v2", "v1")]
    names = {"kind": "Thing", "plural": "things"}
    return {"spec": {"group": "example.com", "scope": scope, "names": names, "versions": versions}}


@pytest.mark.parametrize(
    ("scope", "meta"), [("Namespaced", {"name": "n", "namespace": "ns"}), ("Cluster", {"name": "n"})]
)
def test_a_custom_object_is_of_the_version_that_the_webhook_sees(scope: str, meta: Object) -> None:
    found = minimal_object(hook("things", "example.com"), "n", "ns", {}, {"things.example.com": crd(scope)}.get)
    assert found == {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": meta, "spec": {"size": 1}}


def test_what_has_no_known_shape_is_not_made_up() -> None:
    assert minimal_object(hook("*", "*"), "n", "ns", {}, lambda _: None) is None
    assert minimal_object(hook("things", "example.com"), "n", "ns", {}, lambda _: None) is None
    assert minimal_object(hook("pods", operation="UPDATE"), "n", "ns", {}, lambda _: None) is None


@pytest.mark.parametrize(("resource", "kind"), [("pods", "Pod"), ("configmaps", "ConfigMap")])
def test_a_core_object_carries_the_labels_that_it_is_seen_by(resource: str, kind: str) -> None:
    found = minimal_object(hook(resource), "n", "ns", {"a": "b"}, lambda _: None)
    assert found
    assert (found["kind"], found["metadata"]["labels"]) == (kind, {"a": "b"})


def test_labels_that_a_selector_matches() -> None:
    wanted = [
        {"key": "b", "operator": "In", "values": ["x", "y"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "NotIn", "values": ["z"]},
        {"key": "e", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"a": "1"}, "matchExpressions": wanted}
    labels = labels_matching(selector)
    assert labels == {"a": "1", "b": "x", "c": "true"}
    assert selects(selector, labels)
    assert labels_matching(None) == {}
