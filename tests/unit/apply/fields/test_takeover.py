"""Taking objects over, on literal managedFields."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubeflow_volcano.apply.fields.takeover import appliers, has_left_fields, take_over, without_left_fields
from kubeflow_volcano.cluster.objects import Object

OURS = "kubeflow-volcano"
NAME = 'k:{"name":"main"}'


def entry(manager: str, fields: Any, *, operation: str = "Update", subresource: str = "", time: str = "1") -> Object:
    found = {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "time": time, "fieldsV1": fields}
    return found | ({"subresource": subresource} if subresource else {})


def live(*entries: Object) -> Object:
    container = {"name": "main", "image": "a", "livenessProbe": {"port": 1}, "args": ["x"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "labels": {"theirs": "1", "shared": "1"}, "managedFields": list(entries)},
        "spec": {"replicas": 2, "containers": [container, {"name": "side"}]},
    }


def owned(**containers: Any) -> Any:
    return {"f:spec": {"f:containers": {NAME: {".": {}, "f:name": {}, **containers}}}}


KUBECTL = entry("kubectl-client-side-apply", owned(**{"f:image": {}, "f:livenessProbe": {"f:port": {}}}))


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ((KUBECTL,), ["kubectl-client-side-apply"]),
        ((entry("kubectl", {}, operation="Apply"), entry("helm", {})), ["helm", "kubectl"]),
        ((entry("kubectl-edit", {}), entry("kube-controller-manager", {})), []),
        ((entry("kubectl", {}, subresource="scale"), entry("cert-manager-cainjector", {})), []),
    ],
)
def test_tools_declare_objects_and_controllers_do_not(entries: tuple[Object, ...], found: list[str]) -> None:
    assert appliers(live(*entries)) == found


def test_what_tools_own_becomes_one_entry_and_others_keep_theirs() -> None:
    controller = entry("kube-controller-manager", {"f:spec": {"f:replicas": {}}})
    obj = live(KUBECTL, controller, entry("helm", {"f:metadata": {"f:labels": {"f:theirs": {}}}}, time="2"))
    assert take_over(obj)
    kept, ours = obj["metadata"]["managedFields"]
    assert kept == controller
    assert (ours["manager"], ours["operation"]) == (OURS, "Apply")
    assert ours["fieldsV1"] == KUBECTL["fieldsV1"] | {"f:metadata": {"f:labels": {"f:theirs": {}}}}


def test_what_a_tool_applied_over_ours_joins_our_entry() -> None:
    """Two entries of one applier are not possible: the API server would read the last one only."""
    obj = live(entry(OURS, owned(**{"f:args": {}}), operation="Apply"), KUBECTL)
    assert take_over(obj)
    (ours,) = obj["metadata"]["managedFields"]
    assert (ours["manager"], ours["operation"]) == (OURS, "Apply")
    assert ours["fieldsV1"] == owned(**{"f:image": {}, "f:livenessProbe": {"f:port": {}}, "f:args": {}})


def test_an_object_of_no_tool_stays_as_it_is() -> None:
    obj = live(entry("an-operator", {}), entry(OURS, {}, operation="Apply"))
    before = copy.deepcopy(obj)
    assert not take_over(obj)
    assert obj == before


def test_only_fields_of_tools_alone_go() -> None:
    labels: Any = {"f:metadata": {"f:labels": {"f:shared": {}, "f:theirs": {}}}}
    side: Any = {"f:spec": {"f:containers": {'k:{"name":"side"}': {".": {}, "f:name": {}}}}}
    obj = live(
        KUBECTL,
        entry("helm", labels),
        entry("kubectl-create", side),
        entry(OURS, owned(**{"f:image": {}}) | {"f:metadata": {"f:labels": {"f:shared": {}}}}, operation="Apply"),
    )
    left = without_left_fields(obj)
    assert left["metadata"]["labels"] == {"shared": "1"}
    assert left["spec"]["containers"] == [{"name": "main", "image": "a", "args": ["x"]}]
    assert "livenessProbe" in obj["spec"]["containers"][0]


def test_a_struct_goes_with_its_last_field_and_metadata_stays() -> None:
    labels: Any = {"f:metadata": {"f:labels": {"f:theirs": {}, "f:shared": {}}}, "f:spec": {"f:replicas": {}}}
    obj = live(entry("helm", labels), entry("an-operator", {"f:status": {}}))
    left = without_left_fields(obj)
    assert left["metadata"]["name"] == "a"
    assert "labels" not in left["metadata"]
    assert left["spec"] == {"containers": obj["spec"]["containers"]}


def test_nothing_is_left_over_where_the_tool_only_shares_fields() -> None:
    shared: Any = {"f:spec": {"f:replicas": {}}}
    assert not has_left_fields(live(entry("helm", shared), entry(OURS, shared, operation="Apply")))
    assert has_left_fields(live(entry("helm", shared), entry(OURS, {}, operation="Apply")))
    assert not has_left_fields(live(entry("an-operator", shared)))
