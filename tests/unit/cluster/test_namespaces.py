"""What keeps namespaces from going, on a server that answers as a cluster with that trouble does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeflow_volcano.cluster import namespaces
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch import leaders
from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS

NEW: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": {"team": "ours"}}}
APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SPACES = "/api/v1/namespaces"
SERVED = {
    "/api/v1": {"Namespace": False, "Service": True},
    "/apis/apiregistration.k8s.io/v1": {"APIService": False},
    "/apis/coordination.k8s.io/v1": {"Lease": True},
    "/apis/discovery.k8s.io/v1": {"EndpointSlice": True},
    "/apis/admissionregistration.k8s.io/v1": {
        "MutatingWebhookConfiguration": False,
        "ValidatingWebhookConfiguration": False,
    },
}
HOOK: Mapping[str, Any] = {
    "name": "guard.example.com",
    "clientConfig": {"service": {"namespace": "guard", "name": "hook"}},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"], "operations": ["DELETE"]}],
}


@pytest.fixture
def server(api: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One without obstacles, which is asked again at once."""
    monkeypatch.setattr(namespaces, "_FLAPPING_SECONDS", 0.02)
    monkeypatch.setattr(leaders, "_RENEWAL_SECONDS", 0.02)
    for module in (namespaces, leaders):
        monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.01)
    for path, kinds in SERVED.items():
        items = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": scope} for kind, scope in kinds.items()]
        api.on("GET", path, api.reply(200, {"resources": items}))
    for path in (APISERVICES, HOOKS, HOOKS.replace("validating", "mutating"), SPACES):
        api.on("GET", path, listed(api))
    api.on("POST", SPACES, lambda request: api.reply(201, request.body))
    return api


def listed(api: Any, *items: Object) -> Any:
    return api.reply(200, {"items": list(items), "metadata": {"resourceVersion": "5"}})


def causes(server: Any) -> list[Ref]:
    return [item.cause for item in namespaces.obstacles(server.connect(), [NEW])]


def apiservice(*, available: bool, **spec: Any) -> Object:
    condition = {"type": "Available", "status": str(available), "message": "no such host"}
    meta = {"name": "v1beta1.metrics.k8s.io"}
    return {"metadata": meta, "spec": spec, "status": {"conditions": [condition]}}


BACKEND = {"service": {"namespace": "kube-system", "name": "metrics"}}
DOWN = Ref("apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.k8s.io")


def test_nothing_is_in_the_way_on_a_healthy_cluster(server: Any) -> None:
    server.on("GET", APISERVICES, listed(server, apiservice(available=True, **BACKEND)))
    renewed(server, datetime.now(UTC).isoformat())
    hook(server)
    backend(server, ready=True)
    assert causes(server) == []


def test_what_may_not_be_read_is_no_obstacle(server: Any) -> None:
    for path in (APISERVICES, HOOKS, SPACES, LEASE):
        server.on("GET", path, server.status(403, "Forbidden", "no"))
    assert causes(server) == []


def test_an_apiservice_without_backend_is_one_with_the_servers_words(server: Any) -> None:
    server.on("GET", APISERVICES, listed(server, apiservice(available=False, **BACKEND)))
    (found,) = namespaces.obstacles(server.connect(), [NEW])
    assert (found.cause, "no such host" in found.found, "kube-system/metrics" in found.todo) == (DOWN, True, True)


def test_an_apiservice_that_is_away_for_a_moment_is_none(server: Any) -> None:
    away, there = (listed(server, apiservice(available=available, **BACKEND)) for available in (False, True))
    server.on("GET", APISERVICES, away, there)
    assert causes(server) == []


def test_who_may_not_list_apiservices_is_told_by_discovery(server: Any) -> None:
    server.on("GET", APISERVICES, server.status(403, "Forbidden", "no"))
    versions = [{"version": "v1beta1", "freshness": "Stale"}, {"version": "v1", "freshness": "Current"}]
    group = {"metadata": {"name": "metrics.k8s.io"}, "versions": versions}
    server.on("GET", "/apis", server.reply(200, {"kind": "APIGroupDiscoveryList", "items": [group]}))
    assert causes(server) == [DOWN]


def renewed(server: Any, *times: str, holds: int = 15) -> None:
    leases = [
        {"metadata": {"name": "kube-controller-manager"}, "spec": {"renewTime": text, "leaseDurationSeconds": holds}}
        for text in times
    ]
    server.on("GET", LEASE, *(server.reply(200, item) for item in leases))


def test_a_lease_holds_for_as_long_as_it_says(server: Any) -> None:
    renewed(server, (datetime.now(UTC) - timedelta(seconds=100)).isoformat(), holds=137)
    assert causes(server) == []


def test_a_lease_that_nobody_renews_is_a_controller_that_is_down(server: Any) -> None:
    renewed(server, "2026-01-01T00:00:00.000000Z")
    assert causes(server) == [CONTROLLERS.lease]


def test_a_lease_that_is_renewed_by_another_clock_is_none(server: Any) -> None:
    renewed(server, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:02.000000Z")
    assert causes(server) == []


def hook(server: Any, **differing: Any) -> Ref:
    entry = {**HOOK, **differing}
    server.on("GET", HOOKS, listed(server, {"metadata": {"name": "guard"}, "webhooks": [entry]}))
    return Ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "guard")


def backend(server: Any, *, ready: bool) -> None:
    server.on("GET", "/api/v1/namespaces/guard/services/hook", server.reply(200, {"metadata": {"name": "hook"}}))
    ends = [{"conditions": {"ready": ready}}]
    path = "/apis/discovery.k8s.io/v1/namespaces/guard/endpointslices"
    server.on("GET", path, listed(server, {"metadata": {"name": "hook-1", "namespace": "guard"}, "endpoints": ends}))


@pytest.mark.parametrize("exists", [False, True])
def test_a_webhook_on_deletions_without_backend_is_one(server: Any, *, exists: bool) -> None:
    guard = hook(server)
    if exists:
        backend(server, ready=False)
    assert causes(server) == [guard]


@pytest.mark.parametrize(
    "differing",
    [
        {"failurePolicy": "Ignore"},
        {"namespaceSelector": {"matchLabels": {"team": "theirs"}}},
        {"rules": [{**HOOK["rules"][0], "operations": ["CREATE", "UPDATE"]}]},
        {"rules": [{**HOOK["rules"][0], "resources": ["nodes"]}]},
        {"clientConfig": {"url": "https://elsewhere.example.com"}},
    ],
)
def test_a_webhook_that_is_not_asked_or_cannot_be_judged_is_none(server: Any, differing: Mapping[str, Any]) -> None:
    hook(server, **differing)
    assert causes(server) == []


def going(name: str = "old", seconds: float = 600.0, **rest: Any) -> Object:
    since = datetime.fromtimestamp(time.time() - seconds, UTC).isoformat()
    finalizers = rest.pop("finalizers", [])
    return {"metadata": {"name": name, "uid": name, "deletionTimestamp": since, "finalizers": finalizers}, **rest}


def living(*finalizers: str) -> Object:
    return {"metadata": {"name": "live", "uid": "live", "finalizers": list(finalizers)}}


@pytest.mark.parametrize("by_admission", [True, False])
def test_a_finalizer_that_holds_a_namespace_and_that_all_get_is_one(server: Any, *, by_admission: bool) -> None:
    mark = "controller.cattle.io/namespace-auth"
    server.on("GET", SPACES, listed(server, going(finalizers=[mark]), living(*([] if by_admission else [mark]))))
    if by_admission:
        meta = {**NEW["metadata"], "finalizers": [mark]}
        server.on("POST", SPACES, server.reply(201, NEW | {"metadata": meta}))
    (found,) = namespaces.obstacles(server.connect(), [NEW])
    assert (found.cause, "Rancher" in found.todo) == (Ref("v1", "Namespace", "", "old"), True)
    assert all(request.query.get("dryRun") == "All" for request in server.seen("POST", SPACES))


def test_a_namespace_that_no_controller_has_looked_at_is_one(server: Any) -> None:
    server.on("GET", SPACES, listed(server, going(), living()))
    assert causes(server) == [Ref("v1", "Namespace", "", "old")]


@pytest.mark.parametrize(
    "rest",
    [
        {"finalizers": ["example.com/own"]},
        {"seconds": 10.0},
        {"status": {"conditions": [{"type": "NamespaceContentRemaining", "status": "True", "message": "pods."}]}},
    ],
)
def test_a_namespace_that_stays_for_its_own_reasons_is_none(server: Any, rest: Object) -> None:
    server.on("GET", SPACES, listed(server, going(**rest), living()))
    assert causes(server) == []
