"""Which refusals are about immutable fields, and which objects may be made again."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.apply.replace import describe_way_out, is_immutable_error, is_replaceable, wait_for_deletion
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline

ONE = "/api/v1/namespaces/ns/configmaps/one"
REF = Ref("v1", "ConfigMap", "ns", "one")


@pytest.mark.parametrize(
    "message",
    [
        'Job.batch "j" is invalid: spec.template: Invalid value: {}: field is immutable',
        'RoleBinding "b" is invalid: roleRef: Invalid value: {}: cannot change roleRef',
        'PriorityClass "p" is invalid: value: Forbidden: may not be changed in an update.',
        'StorageClass "s" is invalid: parameters: Forbidden: updates to parameters are forbidden.',
        'StatefulSet "s" is invalid: spec: Forbidden: updates to statefulset spec for other fields are forbidden',
        'PersistentVolumeClaim "p" is invalid: spec: Forbidden: spec is immutable after creation except resources',
        'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: []: may not change once set',
    ],
)
def test_immutable_fields_are_known_by_the_server_s_words(message: str) -> None:
    assert is_immutable_error(ApiError(422, "Invalid", message))
    assert not is_immutable_error(ApiError(403, "Forbidden", message))


def test_another_invalid_object_is_no_immutable_field() -> None:
    assert not is_immutable_error(ApiError(422, "Invalid", 'ConfigMap "c" is invalid: data[a b]: Invalid value: key'))


def live(kind: str, api_version: str, manager: str = "kubeflow-volcano", operation: str = "Apply") -> Object:
    entry = {"manager": manager, "operation": operation, "apiVersion": api_version, "fieldsV1": {}}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "managedFields": [entry]}}


@pytest.mark.parametrize(
    ("obj", "may"),
    [
        (live("Job", "batch/v1"), True),
        (live("ClusterRoleBinding", "rbac.authorization.k8s.io/v1"), True),
        (live("Job", "batch/v1", manager="helm"), False),
        (live("Job", "batch/v1", operation="Update"), False),
        (live("Job", "batch.volcano.sh/v1alpha1"), False),
        (live("Deployment", "apps/v1"), False),
        (live("PersistentVolumeClaim", "v1"), False),
    ],
)
def test_only_safe_kinds_that_are_ours_are_made_again(obj: Object, may: bool) -> None:  # noqa: FBT001  a column of the table
    assert is_replaceable(Ref.of(obj), obj) is may


def test_an_object_that_is_not_there_is_not_made_again() -> None:
    assert not is_replaceable(Ref("batch/v1", "Job", "n", "j"), None)


def test_gone_means_that_very_object(api: Any) -> None:
    def there(uid: str) -> Any:
        return api.reply(body={"metadata": {"name": "one", "uid": uid}})

    api.on("GET", ONE, there("u"), there("u"), there("v"))
    assert wait_for_deletion(api.connect(), REF, "u", Deadline(5))
    api.on("GET", ONE, there("u"))
    assert not wait_for_deletion(api.connect(), REF, "u", Deadline(0.5))


def test_the_way_out_says_what_would_be_lost() -> None:
    assert "data" in describe_way_out(Ref("v1", "PersistentVolumeClaim", "n", "c"))
    assert "kubectl delete StatefulSet.apps s -n n --cascade=orphan" in describe_way_out(
        Ref("apps/v1", "StatefulSet", "n", "s")
    )


def test_of_what_is_taken_over_safe_kinds_are_replaced_too() -> None:
    job = live("Job", "batch/v1", manager="helm")
    assert is_replaceable(Ref.of(job), job, adopted=True)
    deployment = live("Deployment", "apps/v1", manager="helm")
    assert not is_replaceable(Ref.of(deployment), deployment, adopted=True)
