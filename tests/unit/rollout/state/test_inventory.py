"""What is recorded of what roll-outs brought, and that nothing is forgotten."""

from __future__ import annotations

import json
from typing import Any

from kubeflow_volcano.cluster.applied_objects import Brought, Place, serialize
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rollout.state.inventory import Applied, merged, read_inventory, write_inventory

ROLE = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "a")
SERVICE = Ref("v1", "Service", "kubeflow", "a")
BUDGET = Ref("policy/v1beta1", "PodDisruptionBudget", "kubeflow", "a")
NEWER = BUDGET._replace(api_version="policy/v1")
MAPS = "/api/v1/namespaces/kubeflow-volcano/configmaps"


def places(*refs: Ref) -> set[Place]:
    return {Place.of(ref) for ref in refs}


def test_what_a_new_version_does_not_declare_stays_recorded_under_the_old_one() -> None:
    before = {"katib": Brought("1.8.1", {ROLE: "u1", SERVICE: "u2"})}
    once = merged(before, {"katib": Applied("1.9.1", {SERVICE: "u2"})}, places(SERVICE))
    assert once["katib"] == Brought("1.9.1", {SERVICE: "u2"}, {"1.8.1": {ROLE: "u1"}})
    again = merged(once, {"katib": Applied("1.9.1", {SERVICE: "u2"})}, places(SERVICE))
    assert again == once
    assert merged(again, {}, (), gone=places(ROLE))["katib"].left == {"1.8.1": {}}


def test_an_object_that_was_refused_and_never_made_is_not_recorded() -> None:
    done = merged({}, {"katib": Applied("1.9.1", {ROLE: "u1"})}, places(ROLE, SERVICE))
    assert done["katib"].objects == {ROLE: "u1"}


def test_a_refused_change_does_not_make_the_object_stale() -> None:
    before = {"katib": Brought("1.8.1", {SERVICE: "u2"})}
    assert merged(before, {"katib": Applied("1.9.1", {})}, places(SERVICE))["katib"].left == {}


def test_the_same_object_in_a_newer_version_of_its_group_is_no_other_one() -> None:
    before = {"istio": Brought("1.8.1", {BUDGET: "u"})}
    done = merged(before, {"istio": Applied("1.9.1", {NEWER: "u"})}, places(NEWER))
    assert done["istio"] == Brought("1.9.1", {NEWER: "u"}, {})


def test_components_outside_the_run_stay_but_for_what_moved_to_one_inside() -> None:
    before = {"one": Brought("1.8.1", {ROLE: "u1", SERVICE: "u2"}), "two": Brought("1.8.1", {})}
    done = merged(before, {"two": Applied("1.8.1", {SERVICE: "u2"})}, places(SERVICE))
    assert done == {"one": Brought("1.8.1", {ROLE: "u1"}), "two": Brought("1.8.1", {SERVICE: "u2"})}


def test_wiring_an_operator_leaves_its_other_objects() -> None:
    before = {"training-operator": Brought("1.9.1", {ROLE: "u1", SERVICE: "u2"})}
    done = merged(before, {"training-operator": Applied("1.9.1", {SERVICE: "u3"}, wired=True)}, places(ROLE, SERVICE))
    assert done["training-operator"].objects == {ROLE: "u1", SERVICE: "u3"}


def test_a_component_of_which_nothing_is_left_is_forgotten(api: Any) -> None:
    api.on("POST", MAPS, api.status(409, "AlreadyExists", "there is one"))
    api.on("PATCH", f"{MAPS}/rollout-objects", api.reply(body={"metadata": {"name": "rollout-objects"}}))
    write_inventory(api.connect(), {"a": Brought("1", {ROLE: "u"}), "b": Brought("1", {}, {"0": {}})})
    assert api.seen("PATCH", f"{MAPS}/rollout-objects")[0].body["data"]["b"] is None
    assert json.loads(api.seen("PATCH", f"{MAPS}/rollout-objects")[0].body["data"]["a"])["version"] == "1"


def test_a_record_that_was_edited_into_another_form_is_left_out(api: Any) -> None:
    data = {"a": serialize(Brought("1", {ROLE: "u"})), "b": "{"}
    api.on("GET", f"{MAPS}/rollout-objects", api.reply(body={"metadata": {"name": "rollout-objects"}, "data": data}))
    assert read_inventory(api.connect()) == {"a": Brought("1", {ROLE: "u"})}
