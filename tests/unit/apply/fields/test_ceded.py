"""Fields left to others, on objects and managedFields as a real API server keeps them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubeflow_volcano.apply.fields.ceded import (
    REPLICAS,
    Pointer,
    as_pointer,
    as_text,
    declares,
    find_pointer,
    give_up,
    owns,
    with_live_values,
    without,
)
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER as OURS
from kubeflow_volcano.cluster.objects import Object

MEMORY = as_pointer("/spec/template/spec/containers/1/resources/limits/memory")
SECOND = 'k:{"name":"proxy"}'


def deployment(replicas: int = 1, memory: str = "1Gi") -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one", "namespace": "ns", "annotations": {"a.b/c": "d"}},
        "spec": {
            "replicas": replicas,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "main", "args": ["a", "b"]},
                        {"name": "proxy", "resources": {"limits": {"memory": memory}}},
                    ],
                    "tolerations": [{"key": "gpu", "operator": "Exists"}],
                }
            },
        },
    }


def fields() -> dict[str, Any]:
    """What the API server records for `deployment`."""
    containers = {
        'k:{"name":"main"}': {".": {}, "f:name": {}, "f:args": {}},
        SECOND: {".": {}, "f:name": {}, "f:resources": {"f:limits": {"f:memory": {}}}},
    }
    inside = {"f:containers": containers, "f:tolerations": {}}
    return {
        "f:metadata": {"f:annotations": {"f:a.b/c": {}}},
        "f:spec": {"f:replicas": {}, "f:template": {"f:spec": inside}},
    }


def live(*others: Any, **values: Any) -> Object:
    """The object on the cluster, with a container that another program injected before ours."""
    found = copy.deepcopy(deployment(**values))
    found["spec"]["template"]["spec"]["containers"].insert(0, {"name": "injected"})
    ours = {"manager": OURS, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": fields()}
    found["metadata"]["managedFields"] = [*others, ours]
    return found


def scale(manager: str) -> Any:
    entry = {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale"}
    return entry | {"fieldsV1": {"f:spec": {"f:replicas": {}}}}


def test_a_pointer_is_read_and_written_as_in_its_standard() -> None:
    assert as_pointer("/metadata/annotations/a.b~1c~0d") == ("metadata", "annotations", "a.b/c~d")
    assert as_text(as_pointer("/metadata/annotations/a.b~1c~0d")) == "/metadata/annotations/a.b~1c~0d"


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/spec/replicas", True),
        ("/metadata/annotations/a.b~1c", True),
        ("/spec/template/spec/containers/1/resources", True),
        ("/spec/replica", False),
        ("/spec/template/spec/containers/2/resources", False),
        ("/spec/template/spec/containers/main/args", False),
        ("/spec/template/spec/containers/0", False),  # an item of a list
        ("/spec/replicas/0", False),
    ],
)
def test_only_fields_that_are_declared_can_be_ceded(path: str, *, known: bool) -> None:
    assert declares(deployment(), as_pointer(path)) is known


def test_ceded_fields_are_taken_out_and_the_object_stays_as_it_was() -> None:
    whole = deployment()
    left = without(whole, [REPLICAS, MEMORY, ("spec", "absent")])
    assert "replicas" not in left["spec"]
    assert left["spec"]["template"]["spec"]["containers"][1] == {"name": "proxy", "resources": {"limits": {}}}
    assert whole == deployment()
    assert without(whole, [("spec", "absent")]) is whole


def test_fields_are_given_up_with_the_parents_that_only_held_them() -> None:
    found = live()
    assert owns(found, deployment(), [MEMORY])
    assert give_up(found, deployment(), [REPLICAS, MEMORY])
    left = fields()
    del left["f:spec"]["f:replicas"]
    del left["f:spec"]["f:template"]["f:spec"]["f:containers"][SECOND]["f:resources"]
    assert found["metadata"]["managedFields"][-1]["fieldsV1"] == left
    assert found["spec"] == live()["spec"]
    assert not give_up(found, deployment(), [REPLICAS, MEMORY])


def test_what_another_manager_owns_is_not_touched() -> None:
    found = live(scale("kube-controller-manager"))
    give_up(found, deployment(), [REPLICAS])
    assert found["metadata"]["managedFields"][0] == scale("kube-controller-manager")
    found["metadata"]["managedFields"][-1]["manager"] = "other"
    assert not owns(found, deployment(), [MEMORY])


def test_a_dry_run_has_the_live_values_of_what_is_still_owned_and_nothing_of_the_rest() -> None:
    found = live(replicas=5, memory="4Gi")
    del found["metadata"]["managedFields"][-1]["fieldsV1"]["f:spec"]["f:replicas"]
    expected = without(deployment(memory="4Gi"), [REPLICAS])
    assert with_live_values(deployment(), found, [REPLICAS, MEMORY]) == expected


def test_a_zero_value_that_the_api_server_dropped_is_sent_as_declared() -> None:
    found, declared = live(), deployment() | {"spec": deployment()["spec"] | {"paused": False}}
    found["metadata"]["managedFields"][-1]["fieldsV1"]["f:spec"]["f:paused"] = {}
    assert with_live_values(declared, found, [("spec", "paused")]) == declared


def test_a_part_of_a_list_with_one_owner_cannot_be_given_up() -> None:
    with pytest.raises(ApiError, match="/spec/template/spec/tolerations "):
        owns(live(), deployment(), [as_pointer("/spec/template/spec/tolerations/0/key")])


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        (".spec.replicas", REPLICAS),
        (".metadata.annotations.a.b/c", ("metadata", "annotations", "a.b/c")),
        ('.spec.template.spec.containers[name="proxy"].resources.limits.memory', MEMORY),
        ('.spec.template.spec.containers[name="proxy"]', None),
        (".spec.replica", None),
        (".spec.replicasets", None),
    ],
)
def test_the_path_of_a_conflict_becomes_a_pointer(path: str, pointer: Pointer | None) -> None:
    assert find_pointer(deployment(), path) == pointer


def test_an_item_with_a_key_of_several_fields_is_found() -> None:
    ports = [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP", "name": "a"}]
    assert find_pointer({"ports": ports}, '.ports[containerPort=80,protocol="TCP"].name') == ("ports", "1", "name")
