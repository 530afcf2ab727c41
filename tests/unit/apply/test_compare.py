"""When nothing has to be sent: never, if anything declared is missing or anything owned is declared no more."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubeflow_volcano.apply.compare import is_up_to_date
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER as OURS
from kubeflow_volcano.cluster.objects import Object

DECLARED: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "n", "labels": {"a": "b"}},
    "spec": {
        "replicas": 1,
        "paused": False,
        "template": {
            "spec": {"containers": [{"name": "main", "args": ["--x"], "ports": [{"containerPort": 80}]}]},
        },
    },
}
# As the API server stores it: defaults filled in, status, others' fields and managers beside ours.
FIELDS = {
    "f:metadata": {"f:labels": {"f:a": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:paused": {},
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"main"}': {
                        ".": {},
                        "f:name": {},
                        "f:args": {},
                        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                    }
                }
            }
        },
    },
}


def live(**entry: Any) -> Object:
    obj = copy.deepcopy(DECLARED)
    obj["metadata"] |= {"uid": "u", "resourceVersion": "9", "annotations": {"theirs": "1"}}
    obj["spec"]["strategy"] = {"type": "RollingUpdate"}
    obj["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = "TCP"
    obj["status"] = {"replicas": 1}
    ours = {"manager": OURS, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": copy.deepcopy(FIELDS), **entry}
    theirs = {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {}}
    obj["metadata"]["managedFields"] = [theirs, ours]
    return obj


def test_a_live_object_that_says_all_of_it_is_settled() -> None:
    assert is_up_to_date(DECLARED, live())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "labels", "a"), "c"),
        (("metadata", "labels", "new"), "1"),
        (("spec", "replicas"), 2),
        (("spec", "paused"), 0),
        (("spec", "template", "spec", "containers", 0, "args"), ["--x", "--y"]),
        (("spec", "template", "spec", "containers", 0, "args"), []),
        (("spec", "template", "spec", "containers", 0, "image"), "i"),
        (("spec", "new"), {}),
    ],
)
def test_a_declared_value_that_differs_or_is_missing_is_sent(path: tuple[str | int, ...], value: Any) -> None:
    declared: Any = copy.deepcopy(DECLARED)
    part = declared
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert not is_up_to_date(declared, live())


@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "labels"),
        ("spec", "replicas"),
        ("spec", "template", "spec", "containers", 0, "args"),
        ("spec", "template", "spec", "containers", 0, "ports"),
    ],
)
def test_a_field_that_is_owned_and_declared_no_more_is_sent(path: tuple[str | int, ...]) -> None:
    declared: Any = copy.deepcopy(DECLARED)
    part = declared
    for key in path[:-1]:
        part = part[key]
    del part[path[-1]]
    assert not is_up_to_date(declared, live())


def test_an_owned_list_item_that_is_declared_no_more_is_sent() -> None:
    obj = live()
    ports = obj["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    ports['k:{"name":"gone"}'] = {".": {}}
    assert not is_up_to_date(DECLARED, obj)


@pytest.mark.parametrize(
    "entry",
    [{"manager": "other"}, {"operation": "Update"}, {"subresource": "status"}, {"apiVersion": "apps/v1beta1"}],
)
def test_an_object_that_is_not_ours_yet_is_sent(entry: dict[str, Any]) -> None:
    assert not is_up_to_date(DECLARED, live(**entry))


def test_set_values_count() -> None:
    declared = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "finalizers": ["a", "b"]}}
    obj = copy.deepcopy(declared)
    fields: dict[str, Any] = {"f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}}}
    entry = {"manager": OURS, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
    obj["metadata"]["managedFields"] = [entry]  # type: ignore[index]
    assert is_up_to_date(declared, obj)
    fields["f:metadata"]["f:finalizers"]['v:"c"'] = {}
    assert not is_up_to_date(declared, obj)


def test_a_bare_namespace_is_settled_by_its_existence() -> None:
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    found = {**namespace, "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}}}
    assert is_up_to_date(namespace, found)


@pytest.mark.parametrize(
    ("declared", "live", "same"),
    [
        ({"limits": {"cpu": "1000m", "memory": "1.5Gi"}}, {"limits": {"cpu": "1", "memory": "1536Mi"}}, True),
        ({"limits": {"cpu": 2}}, {"limits": {"cpu": "2"}}, True),
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "2"}}, False),
        ({"data": {"amount": "1000m"}}, {"data": {"amount": "1"}}, False),
        ({"a": "", "b": 0, "c": False, "d": None, "e": []}, {}, True),
        ({"a": "x"}, {}, False),
        ({"a": None, "z": 1}, {"a": "theirs", "z": 1}, True),
        ({"items": [{"a": 1}, {"a": 2}]}, {"items": [{"a": 1, "default": "x"}, {"a": 2}]}, True),
        ({"items": [{"a": 1}, {"a": 2}]}, {"items": [{"a": 2}, {"a": 1}]}, False),
        ({"items": [{"a": 1}]}, {"items": [{"a": 1}, {"a": 2}]}, False),
    ],
)
def test_values_in_the_server_s_own_form_are_the_same(declared: Any, live: Any, same: bool) -> None:  # noqa: FBT001  a column of the table
    frame: dict[str, Any] = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}}
    fields: dict[str, Any] = {f"f:{key}": {} for key, value in declared.items() if value is not None}
    fields |= {"f:limits": {"f:cpu": {}, "f:memory": {}}} if "memory" in declared.get("limits", {}) else {}
    entry = {"manager": OURS, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
    obj = {**frame, **live, "metadata": {"name": "x", "managedFields": [entry]}}
    assert is_up_to_date({**frame, **declared}, obj) is same


def test_a_field_that_another_took_over_with_the_same_value_is_sent() -> None:
    obj = live()
    del obj["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:replicas"]
    assert not is_up_to_date(DECLARED, obj)


def test_items_that_others_added_to_a_list_by_key_do_not_matter_but_the_order_does() -> None:
    obj = live()
    containers = obj["spec"]["template"]["spec"]["containers"]
    containers.insert(0, {"name": "injected"})
    assert is_up_to_date(DECLARED, obj)
    two = copy.deepcopy(DECLARED)
    two["spec"]["template"]["spec"]["containers"].append({"name": "second"})
    fields = obj["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    fields['k:{"name":"second"}'] = {".": {}, "f:name": {}}
    containers.append({"name": "second"})
    assert is_up_to_date(two, obj)
    containers.reverse()
    assert not is_up_to_date(two, obj)


def test_an_empty_choice_that_is_not_there_is_sent_and_an_empty_map_that_others_fill_is_not() -> None:
    declared = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "type": "Opaque", "data": {}}
    entry = {"manager": OURS, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:type": {}}}
    obj = {**declared, "metadata": {"name": "x", "managedFields": [entry]}, "data": {"cert": "theirs"}}
    assert is_up_to_date(declared, obj)
    del obj["data"]
    assert not is_up_to_date(declared, obj)


def test_no_arguments_are_sent_where_another_manager_has_set_some() -> None:
    declared: Any = copy.deepcopy(DECLARED)
    declared["spec"]["template"]["spec"]["containers"][0]["args"] = []
    obj = live()
    fields = obj["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    del fields['k:{"name":"main"}']["f:args"]
    assert not is_up_to_date(declared, obj)

    fields['k:{"name":"main"}']["f:args"] = {}  # as the API server notes it once they were sent
    del obj["spec"]["template"]["spec"]["containers"][0]["args"]
    assert is_up_to_date(declared, obj)
