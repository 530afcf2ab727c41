"""What counts as a namespace's contents."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.apply.removing.contents import contents_of
from kubeflow_volcano.deadline import Deadline

SERVED = {
    "/api/v1": ["ConfigMap", "Event", "Secret", "ServiceAccount"],
    "/apis/coordination.k8s.io/v1": ["Lease"],
    "/apis/metrics.example.org/v1": ["Measure"],
}


def serve(api: Any, **items: list[dict[str, Any]]) -> None:
    """Kinds as the API server lists them, with these objects by plural."""
    api.on(
        "GET",
        "/apis",
        api.reply(body={"kind": "APIGroupList", "groups": [group(path) for path in SERVED if path != "/api/v1"]}),
    )
    for path, kinds in SERVED.items():
        verbs = ["list"] if "metrics" in path else ["delete", "list", "patch"]
        resources = [{"name": f"{kind.lower()}s", "kind": kind, "namespaced": True, "verbs": verbs} for kind in kinds]
        api.on("GET", path, api.reply(body={"resources": resources}))
        for kind in kinds:
            found = items.get(f"{kind.lower()}s", [])
            body = {"metadata": {"resourceVersion": "1"}, "items": found}
            api.on("GET", f"{path}/namespaces/n/{kind.lower()}s", api.reply(body=body))


def group(path: str) -> dict[str, Any]:
    return {"versions": [{"groupVersion": path.removeprefix("/apis/")}]}


def item(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "n", **meta}}


def owner(kind: str, name: str, api_version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}"}


def test_an_object_stays_with_its_owner_that_is_in_no_namespace(api: Any) -> None:
    team = "kubeflow.org/v1"
    serve(
        api,
        configmaps=[
            item("of-profile", ownerReferences=[owner("Profile", "n", team)]),
            item("of-gone-profile", ownerReferences=[owner("Profile", "gone", team)]),
            item("of-namespace", ownerReferences=[owner("Namespace", "n")]),
        ],
    )
    groups = [group(path) for path in SERVED if path != "/api/v1"] + [group(f"/apis/{team}")]
    api.on("GET", "/apis", api.reply(body={"kind": "APIGroupList", "groups": groups}))
    profiles = {"name": "profiles", "kind": "Profile", "namespaced": False, "verbs": ["delete", "list"]}
    api.on("GET", f"/apis/{team}", api.reply(body={"resources": [profiles]}))
    api.on("GET", f"/apis/{team}/profiles/n", api.reply(body={"metadata": {"name": "n", "uid": "uid-n"}}))
    found = contents_of(api.connect(), ["n"], Deadline(5))
    assert [obj["metadata"]["name"] for obj in found.objects["n"]] == ["of-profile"]


def test_what_kubernetes_makes_and_removes_by_itself_is_left_out(api: Any) -> None:
    serve(
        api,
        configmaps=[item("kube-root-ca.crt"), item("a"), item("owned", ownerReferences=[owner("Secret", "s")])],
        serviceaccounts=[item("default"), item("robot")],
        secrets=[item("token", annotations={"kubernetes.io/service-account.name": "default"}), item("s")],
        events=[item("e")],
        leases=[item("l")],
    )
    found = contents_of(api.connect(), ["n"], Deadline(5))
    names = sorted((obj["kind"], obj["metadata"]["name"]) for obj in found.objects["n"])
    assert names == [("ConfigMap", "a"), ("Secret", "s"), ("ServiceAccount", "robot")]
    assert found.unread == {}


def test_a_kind_that_cannot_be_listed_is_named_and_one_that_nobody_can_delete_is_not_asked_for(api: Any) -> None:
    serve(api)
    api.on("GET", "/api/v1/namespaces/n/secrets", api.status(403, "Forbidden", "not you"))
    found = contents_of(api.connect(), ["n"], Deadline(5))
    assert list(found.unread) == ["secrets"]
    assert "not you" in found.unread["secrets"]
    assert not api.seen("GET", "/apis/metrics.example.org/v1/namespaces/n/measures")


def test_without_namespaces_nothing_is_asked(api: Any) -> None:
    assert contents_of(api.connect(), [], Deadline(5)).objects == {}
