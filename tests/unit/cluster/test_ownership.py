"""Whose an object is, by marks and by field managers."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.ownership import Written, owner_of, writers_of, written_since

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


CREATED: Object = KUBECTL | {
    "fieldsV1": {
        "f:metadata": {"f:labels": {".": {}, "f:team": {}}},
        "f:spec": {
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"train"}': {"f:image": {}}}}},
        },
    }
}
IMAGE = ("spec", "template", "spec", "containers", "[train]", "image")


def since(*entries: Object, created: str = MADE) -> tuple[Written, ...]:
    return written_since({"metadata": {"creationTimestamp": created, "managedFields": [*entries]}})


def by(manager: str, spec: Object, **more: Object | str) -> Object:
    return {"manager": manager, "time": LATER, "fieldsV1": {"f:spec": spec}, **more}


def test_fields_of_the_spec_that_others_wrote_after_the_creation_are_known_with_their_managers() -> None:
    quantities: Object = {
        "f:containers": {'k:{"name":"train"}': {".": {}, "f:resources": {"f:requests": {"f:cpu": {}}}}}
    }
    scaled = by("kube-controller-manager", {"f:replicas": {}}, subresource="scale")
    found = since(CREATED, scaled, by("vpa-updater", {"f:template": {"f:spec": quantities}}))
    assert [(item.field, item.manager, item.time) for item in found] == [
        ("spec.replicas", "kube-controller-manager", LATER),
        ("spec.template.spec.containers[train].resources.requests.cpu", "vpa-updater", LATER),
    ]


def test_what_the_creator_has_too_is_as_it_was_created() -> None:
    shared = by(
        "argocd-controller", {"f:template": {"f:spec": {"f:containers": {'k:{"name":"train"}': {"f:image": {}}}}}}
    )
    assert since(CREATED, shared) == ()
    assert since(CREATED, STATUS | {"time": LATER, "fieldsV1": {"f:spec": {"f:paused": {}}}}) == ()
    assert since(CREATED, by(KUBECTL["manager"], {"f:suspend": {}})) == ()


def test_a_creator_that_has_written_since_has_the_first_entry() -> None:
    assert (
        since(CREATED | {"time": LATER}, by("kueue", {"f:suspend": {}}, time="2026-01-02T00:00:00Z"))[0].manager
        == "kueue"
    )


def test_who_has_the_spec_itself_made_it_even_if_another_one_wrote_within_the_first_second() -> None:
    maker = by("kubectl", {".": {}, "f:image": {}})
    assert [item.manager for item in since(maker, by("kueue", {"f:suspend": {}}, time=MADE))] == []
    found = since(maker, by("kueue", {"f:suspend": {}}, time=MADE), by("sizer", {"f:size": {}}))
    assert [item.manager for item in found] == ["sizer"]


@pytest.mark.parametrize("entry", [{}, {"fieldsV1": None}, {"fieldsV1": {"f:spec": {"k:not json": {}}}}])
def test_what_is_no_set_of_fields_tells_nothing_of_others(entry: Object) -> None:
    assert since(entry) == ()
