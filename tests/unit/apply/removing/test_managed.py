"""Which live objects a field manager applied."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.apply.removing.managed import managed_objects
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER as OURS
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline

VERBS = ["list", "patch"]


def live(name: str, *managers: tuple[str, str]) -> Object:
    fields = [{"manager": manager, "operation": operation, "apiVersion": "v1"} for manager, operation in managers]
    return {"metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}", "managedFields": fields}}


def serve(api: Any, *items: Object) -> None:
    kinds = [
        {"name": "serviceaccounts", "kind": "ServiceAccount", "namespaced": True, "verbs": VERBS},
        {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": VERBS},
        {"name": "bindings", "kind": "Binding", "namespaced": True, "verbs": ["create"]},
    ]
    policy = [{"responseKind": {"kind": "Budget"}, "resource": "budgets", "scope": "Namespaced", "verbs": VERBS}]
    versions = [{"version": version, "resources": policy} for version in ("v1", "v1beta1")]
    groups = {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "policy"}, "versions": versions}]}
    api.on("GET", "/api/v1", api.reply(body={"resources": kinds}))
    api.on("GET", "/apis", api.reply(body=groups))
    page = {"metadata": {"resourceVersion": "1"}, "items": list(items)}
    api.on("GET", "/api/v1/serviceaccounts", api.reply(body=page))


def names(found: Any) -> set[str]:
    return {ref.name for ref in found.objects}


def test_what_the_manager_applied_is_found_and_nothing_of_others(api: Any) -> None:
    serve(api, live("ours", (OURS, "Apply")), live("updated", (OURS, "Update")), live("theirs", ("them", "Apply")))
    api.on("GET", "/apis/policy/v1/budgets", api.status(503, "ServiceUnavailable", "no backend"))
    found = managed_objects(api.connect(), Deadline(2))
    assert list(found.objects) == [Ref("v1", "ServiceAccount", "n", "ours")]
    assert list(found.unread) == ["budgets.policy"]
    assert "no backend" in found.unread["budgets.policy"]
    asked = [item.path for item in api.seen("GET", "/api/v1/pods")] + api.seen("GET", "/apis/policy/v1beta1/budgets")
    assert not asked


def test_an_object_without_fields_is_known_by_its_uid_unless_others_manage_it(api: Any) -> None:
    serve(
        api, live("bare"), live("token", ("kube-controller-manager", "Update")), live("kubectl", ("kubectl", "Update"))
    )
    found = managed_objects(
        api.connect(),
        Deadline(5),
        kinds={("", "ServiceAccount")},
        uids={"uid-bare", "uid-token", "uid-kubectl"},
    )
    assert names(found) == {"bare", "token"}
    assert names(managed_objects(api.connect(), Deadline(5), kinds={("", "ServiceAccount")})) == set()


def test_crds_are_looked_up_in_the_cache_and_all_else_in_etcd(api: Any) -> None:
    serve(api, live("ours", (OURS, "Apply")))
    crds = {"responseKind": {"kind": "CustomResourceDefinition"}, "resource": "customresourcedefinitions"}
    version = {"version": "v1", "resources": [{**crds, "scope": "Cluster", "verbs": VERBS}]}
    group = {"metadata": {"name": "apiextensions.k8s.io"}, "versions": [version]}
    api.on("GET", "/apis", api.reply(body={"kind": "APIGroupDiscoveryList", "items": [group]}))
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.on("GET", path, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": [live("crd", (OURS, "Apply"))]}))
    assert names(managed_objects(api.connect(), Deadline(5))) == {"ours", "crd"}
    assert [item.query.get("resourceVersion") for item in api.seen("GET", path)] == ["0"]
    assert [item.query.get("resourceVersion") for item in api.seen("GET", "/api/v1/serviceaccounts")] == [None]
