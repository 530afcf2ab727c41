"""What is there is read in lists, by name where a list would be more, and not at all where nothing can be."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.apply.survey import Found, Presence, learn_kinds, survey
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER as OURS
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline

MAPS = "/api/v1/namespaces/ns/configmaps"


def text(name: str, namespace: str = "ns", kind: str = "ConfigMap", api_version: str = "v1") -> Object:
    return new_object(api_version, kind, name, namespace, data={"a": "1"})


def live(name: str, value: str = "1", **meta: Any) -> Object:
    entry = {"manager": OURS, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:a": {}}}}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "managedFields": [entry], **meta},
        "data": {"a": value},
    }


def looked(api: Any, *objects: Object, namespaces: tuple[str, ...] = ("ns",), ceded: Any = None) -> dict[str, Found]:
    items = [{"metadata": {"name": name}} for name in namespaces]
    api.on("GET", "/api/v1/namespaces", api.reply(body={"items": items, "metadata": {"resourceVersion": "1"}}))
    cluster = api.connect()
    kinds = learn_kinds(cluster, (obj["apiVersion"] for obj in objects))
    found = survey(cluster, {Ref.of(obj): obj for obj in objects}, kinds, Deadline(10), ceded=ceded or {})
    return {ref.name: item for ref, item in found.items()}


def page(api: Any, *items: Object, more: str = "") -> Any:
    return api.reply(body={"items": list(items), "metadata": {"resourceVersion": "1", "continue": more}})


def test_many_objects_of_a_kind_are_one_list(api: Any) -> None:
    going = live("going", deletionTimestamp="2026-01-01T00:00:00Z")
    api.on("GET", MAPS, page(api, live("same"), live("other", "2"), more="next"), page(api, going, live("foreign")))
    found = looked(api, text("same"), text("other"), text("absent"), text("going"))
    assert {name: item.presence for name, item in found.items()} == {
        "same": Presence.UP_TO_DATE,
        "other": Presence.DIFFERS,
        "absent": Presence.ABSENT,
        "going": Presence.DIFFERS,
    }
    assert found["same"].live is None
    assert [found[name].uid for name in ("same", "other", "absent")] == ["uid-same", "uid-other", ""]
    assert (found["other"].live or {})["data"] == {"a": "2"}
    assert len(api.seen("GET", MAPS)) == 2


def test_ceded_fields_and_the_replicas_of_an_autoscaler_are_not_compared(api: Any) -> None:
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "scaled"}
    scalers = [
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"scaleTargetRef": {**target, **other}}}
        for name, namespace, other in (("hpa", "ns", {}), ("x", "other", {}), ("y", "ns", {"apiVersion": "a/v1"}))
    ]
    resource = {"kind": "HorizontalPodAutoscaler", "name": "horizontalpodautoscalers", "namespaced": True}
    api.on("GET", "/apis/autoscaling/v1", api.reply(body={"resources": [resource]}))
    api.on("GET", "/apis/autoscaling/v1/horizontalpodautoscalers", page(api, *scalers))
    scaled = live("scaled")
    scaled["spec"] = {"replicas": 3}
    ours = live("ceded", "2")
    api.on("GET", MAPS, page(api, scaled, ours, live("same")))
    declared = text("scaled") | {"spec": {"replicas": 1}}
    data = ("data", "a")
    found = looked(api, declared, text("ceded"), text("same"), ceded={Ref.of(text("ceded")): (data,)})
    assert [found[name].presence for name in ("scaled", "ceded")] == [Presence.UP_TO_DATE, Presence.DIFFERS]
    assert (found["scaled"].ceded, found["scaled"].scaler) == ((("spec", "replicas"),), "hpa")
    assert (found["ceded"].ceded, found["ceded"].scaler) == ((data,), "")  # differs, as we own the field still
    assert found["same"].ceded == ()

    del ours["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]["f:a"]
    ours["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]["."] = {}
    api.on("GET", MAPS, page(api, scaled, ours, live("same")))
    again = looked(api, declared, text("ceded"), text("same"), ceded={Ref.of(text("ceded")): (data,)})
    assert again["ceded"].presence is Presence.UP_TO_DATE


def test_a_list_that_becomes_too_old_is_read_anew(api: Any) -> None:
    gone = api.status(410, "Expired", "the provided continue parameter is too old")
    api.on("GET", MAPS, page(api, live("a"), more="next"), gone, page(api, live("a"), live("b"), live("c")))
    found = looked(api, text("a"), text("b"), text("c"))
    assert {item.presence for item in found.values()} == {Presence.UP_TO_DATE}
    assert "continue" not in api.seen("GET", MAPS)[2].query


def test_few_objects_are_asked_for_by_name(api: Any) -> None:
    api.on("GET", f"{MAPS}/a", api.reply(body={**text("a"), **live("a")}))
    found = looked(api, text("a"), text("b"))
    assert found["a"].presence is Presence.UP_TO_DATE
    assert found["b"].presence is Presence.ABSENT
    assert not api.seen("GET", MAPS)


def test_nothing_is_asked_where_there_can_be_nothing(api: Any) -> None:
    custom = [text(name, kind="Foo", api_version="g.io/v1") for name in "abc"]
    found = looked(api, *custom, *(text(name, "absent") for name in "xyz"))
    assert {found[name].presence for name in "abc"} == {Presence.NOT_SERVED}
    assert {found[name].presence for name in "xyz"} == {Presence.NO_NAMESPACE}
    assert {item.path for item in api.requests} == {"/version", "/api/v1", "/apis/g.io/v1", "/api/v1/namespaces"}


def test_many_group_versions_are_learnt_by_one_request(api: Any) -> None:
    version = {
        "version": "v1",
        "resources": [{"resource": "foos", "responseKind": {"kind": "Foo"}, "scope": "Cluster"}],
    }
    told = {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "g.io"}, "versions": [version]}]}
    api.on("GET", "/apis", api.reply(body=told))
    cluster = api.connect()
    kinds = learn_kinds(cluster, ["v1", "g.io/v1", "not.there/v1", "v1"])
    assert kinds["g.io/v1"]["Foo"].path(name="one") == "/apis/g.io/v1/foos/one"
    assert "ConfigMap" in kinds["v1"]
    assert kinds["not.there/v1"] == {}
    assert [item.path for item in api.requests] == ["/version", "/apis", "/api/v1"]


def test_an_older_server_is_asked_for_each_group_version(api: Any) -> None:
    api.on("GET", "/apis", api.reply(body={"kind": "APIGroupList", "groups": []}))
    for version in ("g.io/v1", "h.io/v1"):
        served = {"resources": [{"kind": "Foo", "name": "foos", "namespaced": False}]}
        api.on("GET", f"/apis/{version}", api.reply(body=served))
    kinds = learn_kinds(api.connect(), ["v1", "g.io/v1", "h.io/v1"])
    assert all("Foo" in kinds[version] for version in ("g.io/v1", "h.io/v1"))
