"""Which steps a CRD needs before it is changed; tests/integration/test_crd_changes.py takes them on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubeflow_volcano.apply.crds.change import MARK, CrdChange, change_of, intermediate
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.stored_versions import readable_version

MANAGER = "kubeflow-volcano"
WEBHOOK = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"caBundle": "Cg=="}}}
WHOLE: Any = {"f:strategy": {}, "f:webhook": {"f:conversionReviewVersions": {}, "f:clientConfig": {"f:service": {}}}}
INJECTED: Any = {"f:strategy": {}, "f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}


def crd(*versions: str, storage: str, conversion: Any = None) -> Object:
    items = [{"name": name, "served": True, "storage": name == storage} for name in versions]
    spec = {"group": "g", "names": {"kind": "K", "plural": "ks"}, "versions": items}
    return {"metadata": {"name": "ks.g"}, "spec": {**spec, **({"conversion": conversion} if conversion else {})}}


def live(
    *versions: str, storage: str, stored: Sequence[str], conversion: Any = None, others: Any = None, ours: Any = WHOLE
) -> Object:
    obj = crd(*versions, storage=storage, conversion=conversion)
    obj["status"] = {"storedVersions": [*stored]}
    obj["metadata"]["managedFields"] = [
        {"manager": name, "operation": operation, "fieldsV1": {"f:spec": {"f:conversion": fields}}}
        for name, operation, fields in ((MANAGER, "Apply", ours), *(others or ()))
    ]
    return obj


def test_a_crd_that_keeps_its_versions_needs_nothing() -> None:
    assert change_of(crd("v1", "v2", storage="v2"), live("v1", storage="v1", stored=["v1"])) is None


@pytest.mark.parametrize(
    ("found", "moves"),
    [
        (live("v1", "v2", storage="v1", stored=["v1"]), True),
        (live("v1", storage="v1", stored=["v1"]), True),
        (live("v1", "v2", storage="v2", stored=["v1", "v2"]), False),
        (live("v1", "v2", storage="v1", stored=["v2", "v1"]), False),
    ],
)
def test_stored_versions_that_disappear_are_migrated(found: Object, moves: bool) -> None:  # noqa: FBT001  a parameter
    change = change_of(crd("v2", storage="v2"), found)
    assert change == CrdChange("v2", ("v1",), moves=moves, drops_conversion=False)


def test_what_another_manager_applied_is_left_alone() -> None:
    found = live("v1", storage="v1", stored=["v1"])
    found["metadata"]["managedFields"][0]["manager"] = "another"
    assert change_of(crd("v2", storage="v2"), found) is None


def test_a_crd_that_is_being_deleted_is_left_alone() -> None:
    found = live("v1", storage="v1", stored=["v1"])
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert change_of(crd("v2", storage="v2"), found) is None


def test_a_conversion_ends_although_an_injector_has_a_part_of_it() -> None:
    found = live("v1", storage="v1", stored=["v1"], conversion=WEBHOOK, others=[("injector", "Update", INJECTED)])
    assert change_of(crd("v1", storage="v1"), found) == CrdChange("v1", (), moves=False, drops_conversion=True)


@pytest.mark.parametrize(
    "found",
    [
        live("v1", storage="v1", stored=["v1"], conversion=WEBHOOK, others=[("helm", "Apply", WHOLE)]),
        live("v1", storage="v1", stored=["v1"], conversion=WEBHOOK, others=[("helm", "Update", WHOLE)], ours={}),
        live("v1", storage="v1", stored=["v1"]),
    ],
    ids=["shared", "of another", "none"],
)
def test_a_conversion_that_others_declare_or_that_is_none_is_not_dropped(found: Object) -> None:
    assert change_of(crd("v1", storage="v1"), found) is None


def test_a_conversion_that_is_declared_stays() -> None:
    found = live("v1", storage="v1", stored=["v1"], conversion=WEBHOOK)
    assert change_of(crd("v1", storage="v1", conversion=WEBHOOK), found) is None


def test_before_a_conversion_ends_everything_is_stored_in_the_declared_version() -> None:
    found = live("v1", "v2", storage="v1", stored=["v1"], conversion=WEBHOOK)
    change = change_of(crd("v1", "v2", storage="v2"), found)
    assert change == CrdChange("v2", ("v1",), moves=True, drops_conversion=True)


def test_the_intermediate_crd_has_all_versions_and_stores_in_the_declared_one() -> None:
    found = live("v1", "v2", storage="v1", stored=["v1"], conversion=WEBHOOK)
    between = intermediate(crd("v2", "v3", storage="v3"), found)
    versions = {item["name"]: (item["served"], item["storage"]) for item in between["spec"]["versions"]}
    assert versions == {"v1": (True, False), "v2": (True, False), "v3": (True, True)}
    assert between["spec"]["conversion"] == WEBHOOK
    assert "status" not in between


def test_the_intermediate_crd_has_the_declared_conversion_if_there_is_one() -> None:
    own = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "v2"]}}
    found = live("v1", storage="v1", stored=["v1"], conversion=WEBHOOK)
    assert intermediate(crd("v2", storage="v2", conversion=own), found)["spec"]["conversion"] == own


def test_the_intermediate_crd_shows_by_a_column_that_it_is_in_effect() -> None:
    own = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    declared = crd("v2", storage="v2")
    declared["spec"]["versions"][0]["additionalPrinterColumns"] = [own]
    between = intermediate(declared, live("v1", "v2", storage="v1", stored=["v1"]))
    columns = {item["name"]: item.get("additionalPrinterColumns", []) for item in between["spec"]["versions"]}
    assert columns["v2"][0] == own
    assert [item["name"] for item in columns["v2"]] == ["Age", MARK]
    assert columns["v2"][1]["priority"] == 1
    assert columns["v1"] == []
    assert declared["spec"]["versions"][0]["additionalPrinterColumns"] == [own]


@pytest.mark.parametrize(("served", "wanted"), [({"v1", "v2"}, "v2"), ({"v1"}, "v1"), (set(), "")])
def test_objects_are_read_in_the_version_they_are_stored_in_if_it_is_served(served: set[str], wanted: str) -> None:
    found = crd("v1", "v2", storage="v2")
    for item in found["spec"]["versions"]:
        item["served"] = item["name"] in served
    assert readable_version(found) == wanted
