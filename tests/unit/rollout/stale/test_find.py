"""Which objects are stale: those of an inventory, those of the field manager, and never those of others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from kubeflow_volcano.apply.removing.managed import Managed
from kubeflow_volcano.cluster.applied_objects import Brought, Place
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rollout.stale import find

ROLE, OTHER = (Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", name) for name in "ab")
UNKNOWN = Ref("v1", "ConfigMap", "n", "c")


def looked(
    monkeypatch: pytest.MonkeyPatch,
    inventory: dict[str, Brought],
    declared: Collection[Ref] = (),
    *,
    chosen: Collection[str] = ("katib",),
    whole: Collection[str] = ("katib",),
    unread: Collection[str] = (),
    existing: Collection[str] = (),
    of_existing: Collection[Ref] = (),
    on_cluster: Collection[Ref] = (ROLE, OTHER, UNKNOWN),
) -> find.Survey:
    def managed(*_: Any, kinds: Collection[tuple[str, str]] | None = None, **__: Any) -> Managed:
        live: dict[Ref, Object] = {
            ref: {"metadata": {"uid": f"uid-{ref.name}"}}
            for ref in on_cluster
            if kinds is None or (ref.group, ref.kind) in kinds
        }
        return Managed(live, dict.fromkeys(unread, "no answer"))

    monkeypatch.setattr(find, "managed_objects", managed)
    places = {Place.of(ref) for ref in declared}
    cluster: Any = None
    theirs = {Place.of(ref) for ref in of_existing}
    return find.find_stale(
        cluster,
        inventory,
        places,
        chosen=chosen,
        whole=whole,
        existing=existing,
        of_existing=theirs,
        deadline=Deadline(1),
    )


def origins(found: find.Survey) -> list[tuple[str, str, str]]:
    return [(item.ref.name, item.component, item.version) for item in found.stale]


def test_a_whole_run_finds_also_what_no_inventory_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = {"katib": Brought("1.9.1", {}, {"1.8.1": {ROLE: "uid-a"}})}
    assert origins(looked(monkeypatch, inventory, [OTHER])) == [("a", "katib", "1.8.1"), ("c", "", "")]


def test_what_others_made_again_since_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = {"katib": Brought("1.9.1", {}, {"1.8.1": {ROLE: "uid-before"}})}
    assert origins(looked(monkeypatch, inventory, [OTHER, UNKNOWN])) == []


def test_a_component_that_is_chosen_no_longer_is_stale_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = {"katib": Brought("1.9.1", {ROLE: "uid-a"})}
    found = looked(monkeypatch, inventory, [OTHER, UNKNOWN], chosen=["volcano"], whole=["volcano"])
    assert origins(found) == [("a", "katib", "1.9.1")]


def test_a_component_that_others_keep_is_never_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = {"istio": Brought("1.9.1", {ROLE: "uid-a"}, {"1.8.1": {OTHER: "uid-b"}})}
    assert origins(looked(monkeypatch, inventory)) == [("a", "istio", "1.9.1"), ("b", "istio", "1.8.1"), ("c", "", "")]
    assert origins(looked(monkeypatch, inventory, existing=["istio"])) == [("c", "", "")]
    lost: dict[str, Brought] = {}
    assert origins(looked(monkeypatch, lost, existing=["istio"], of_existing=[ROLE, OTHER])) == [("c", "", "")]


def test_a_run_of_a_part_judges_no_other_chosen_component(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = {"katib": Brought("1.9.1", {ROLE: "uid-a"}), "gone": Brought("1.8.1", {}, {"1.7.0": {OTHER: "uid-b"}})}
    found = looked(monkeypatch, inventory, chosen=["katib", "volcano"], whole=["volcano"])
    assert origins(found) == [("b", "gone", "1.7.0")]


def test_an_object_that_moved_to_a_component_outside_the_run_is_not_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = {"katib": Brought("1.9.1", {ROLE: ""}), "volcano": Brought("1.9.1", {}, {"1.8.1": {ROLE: ""}})}
    assert origins(looked(monkeypatch, inventory, chosen=["katib", "volcano"], whole=["volcano"])) == []


@pytest.mark.parametrize(("unread", "gone"), [((), {Place.of(ROLE)}), (("clusterroles",), set())])
def test_what_is_absent_is_known_to_be_gone_only_if_everything_could_be_listed(
    monkeypatch: pytest.MonkeyPatch, unread: Collection[str], gone: set[Place]
) -> None:
    inventory = {"katib": Brought("1.9.1", {}, {"1.8.1": {ROLE: "uid-a"}})}
    found = looked(monkeypatch, inventory, [OTHER, UNKNOWN], unread=unread, on_cluster=[OTHER])
    assert (set(found.gone), set(found.unread)) == (gone, set(unread))


@pytest.mark.parametrize(("declared", "status", "stops"), [(True, 200, True), (False, 200, False), (False, 404, True)])
def test_a_webhook_whose_backend_serves_it_no_longer_stops_others(
    api: Any, *, declared: bool, status: int, stops: bool
) -> None:
    ref = Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "w")
    path = "/apis/admissionregistration.k8s.io/v1"
    kind = {"name": "validatingwebhookconfigurations", "kind": ref.kind, "namespaced": False}
    hook = {"name": "w.x.io", "clientConfig": {"service": {"namespace": "n", "name": "s"}}}
    live = {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": {"name": "w"}, "webhooks": [hook]}
    services = {"name": "services", "kind": "Service", "namespaced": True}
    api.on("GET", path, api.reply(body={"resources": [kind]}))
    api.on("GET", f"{path}/validatingwebhookconfigurations/w", api.reply(body=live))
    api.on("GET", "/api/v1", api.reply(body={"resources": [services]}))
    answer = api.reply(body={"metadata": {"name": "s"}}) if status == 200 else api.status(404, "NotFound", "no")
    api.on("GET", "/api/v1/namespaces/n/services/s", answer)
    stale = find.Stale(ref, {}, "volcano", "1.10.0")
    places = {Place("", "Service", "n", "s")} if declared else set()
    assert [*find.unserved_webhooks(api.connect(), [stale], places)] == ([stale] if stops else [])
