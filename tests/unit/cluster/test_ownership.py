"""Whose an object is, by marks and by field managers."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.ownership import owner_of, writers_of

MADE, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
KUBECTL: Object = {"manager": "kubectl-client-side-apply", "operation": "Update", "time": MADE}
INJECTOR: Object = {"manager": "cainjector", "operation": "Update", "time": LATER}
STATUS: Object = {"manager": "kube-apiserver", "operation": "Update", "time": MADE, "subresource": "status"}
HELM = {"annotations": {"meta.helm.sh/release-name": "mesh"}}


@pytest.mark.parametrize(
    ("meta", "owner"),
    [
        ({"managedFields": [KUBECTL, INJECTOR, STATUS]}, "field manager kubectl-client-side-apply"),
        (
            {"managedFields": [KUBECTL | {"time": LATER}, INJECTOR]},
            "field manager cainjector, kubectl-client-side-apply",
        ),
        ({"managedFields": [KUBECTL], **HELM}, "Helm release mesh"),
        ({"managedFields": [{}]}, "field manager unknown"),
        ({}, "field manager unknown"),
    ],
)
def test_the_owner_is_a_mark_or_who_made_it(meta: Object, owner: str) -> None:
    assert owner_of({"metadata": {"creationTimestamp": MADE, **meta}}) == owner


def test_the_writers_of_a_field_are_the_managers_that_own_its_path() -> None:
    def entry(manager: str, time: str, **fields: Object) -> Object:
        return {"manager": manager, "time": time, "fieldsV1": {"f:spec": fields}}

    entries = [entry("kueue", LATER, **{"f:suspend": {}}), entry("kubectl", MADE, **{"f:suspend": {}, "f:queue": {}})]
    obj = {"metadata": {"managedFields": entries}}
    assert writers_of(obj, "spec", "suspend") == ("kubectl", "kueue")
    assert writers_of(obj, "spec", "queue") == ("kubectl",)
    assert writers_of(obj, "spec", "queue", "name") == writers_of({"metadata": {}}, "spec") == ()
