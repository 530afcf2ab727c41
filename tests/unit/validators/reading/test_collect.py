"""What is read of a cluster, once; and what is said of what cannot be."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ODD, ApiError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.reach.api_server import READY_ANSWERS
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Fact, Facts, Read, Unread
from kubeflow_volcano.validators.core.outcome import Severity, passed
from kubeflow_volcano.validators.core.resources import CRDS
from kubeflow_volcano.validators.core.resources import PODS as POD_KIND
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.reading.collect import _behind, collect, unread
from kubeflow_volcano.validators.reading.devices import DEVICES
from kubeflow_volcano.validators.reading.stability import Watch
from kubeflow_volcano.validators.subjects.pods import WINDOW
from kubeflow_volcano.validators.subjects.workloads import RESOURCE_OF_KIND
from tests.samples.facts import deployment, pod, ref
from tests.samples.facts import facts as sample

PODS, NODES, NAMESPACES = "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces"
KINDS = [("ConfigMap", "configmaps", True), ("Namespace", "namespaces", False), ("Node", "nodes", False)]


def some_check(*reads: Read) -> Check:
    def judge(_facts: Facts) -> Any:
        return passed("well", objects=[ref("Pod", "a/b")])

    return Check("Z1", "z", "title", "remedy", Severity.MAJOR, judge, reads=reads)


WATCHED = some_check(POD_KIND, WINDOW)
LISTED = some_check(POD_KIND)


@pytest.fixture
def server(api: Any) -> Any:
    """One that has a namespace, no node, and one pod that is well."""
    served = [*KINDS, ("Pod", "pods", True)]
    resources = [{"kind": kind, "name": name, "namespaced": inside} for kind, name, inside in served]
    api.on("GET", "/api/v1", api.reply(body={"resources": resources}))
    api.on("GET", NODES, listing(api))
    api.on("GET", NAMESPACES, listing(api, {"metadata": {"name": "kube-system", "uid": "the-cluster"}}))
    api.on("GET", PODS, pods(api))
    return api


def listing(api: Any, *items: dict[str, Any]) -> Any:
    return api.reply(body={"metadata": {"resourceVersion": "5"}, "items": list(items)})


META = {
    "name": "p",
    "namespace": "ns",
    "uid": "u",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [],
}
SPEC = {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "secret"}]}]}


def pods(api: Any) -> Any:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    def answer(request: Any) -> Any:
        if "watch" in request.query:
            return api.reply(lines=[], hold=1.0)
        return listing(api, {"metadata": dict(META), "spec": copy.deepcopy(SPEC), "status": status})

    return answer


def read(api: Any, check: Check) -> Facts:
    return collect(
        api.connect(),
        [check],
        Expectations(),
        rights={},
        read_only=True,
        probe_namespace="",
        seconds=1.0,
        progress=silent,
        timing=Timing(settle_seconds=0.1),
    )


def test_pods_that_were_watched_are_not_listed_a_second_time(server: Any) -> None:
    facts = read(server, WATCHED)
    assert len([request for request in server.seen("GET", PODS) if "watch" not in request.query]) == 1
    window = facts.read(WINDOW)
    assert window
    assert window.seconds >= 1.0
    (found,) = facts.all("pods")
    assert found["metadata"]["name"] == "p"
    assert facts.cluster_uid == "the-cluster"


def test_a_snapshot_that_is_taken_again_has_its_pods_from_the_watch(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = iter([True, False])
    monkeypatch.setattr("kubeflow_volcano.validators.reading.collect._behind", lambda _: next(behind))
    streams = iter([[], [{"type": "DELETED", "object": {"metadata": META | {"resourceVersion": "6"}, "spec": SPEC}}]])
    listed = pods(server)

    def answer(request: Any) -> Any:
        if "watch" not in request.query:
            return listed(request)
        return server.reply(lines=copy.deepcopy(next(streams, [])), hold=1.0)

    server.on("GET", PODS, answer)
    facts = read(server, some_check(*WATCHED.reads, *RESOURCE_OF_KIND.values()))
    assert facts.all("pods") == ()
    assert len([request for request in server.seen("GET", PODS) if "watch" not in request.query]) == 1
    assert len(server.seen("GET", NODES)) == 2


@pytest.mark.parametrize(("status", "behind"), [({}, True), ({"status": {"phase": "Pending"}}, False)])
def test_a_workload_is_behind_its_pods_where_none_of_them_says_what_it_waits_for(status: Any, behind: bool) -> None:  # noqa: FBT001
    late = deployment("ns/web", available=0)
    others = pod("ns/other", status={"phase": "Pending"})
    assert _behind(sample(late, pod("ns/web-1", owner="web", **status), others)) is behind
    assert not _behind(sample(deployment("ns/web"), others))


def test_a_snapshot_stands_where_the_watch_ends_before_another_can_be_taken(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_watch: Watch, _seconds: float) -> Any:
        raise ApiError(0, "NoAnswer", "broke off")

    monkeypatch.setattr("kubeflow_volcano.validators.reading.collect._behind", lambda _: True)
    monkeypatch.setattr(Watch, "after", broken)
    facts = read(server, some_check(*WATCHED.reads, *RESOURCE_OF_KIND.values()))
    assert [item["metadata"]["name"] for item in facts.all("pods")] == ["p"]


@pytest.mark.parametrize("check", [WATCHED, LISTED], ids=["watched", "listed"])
def test_what_no_check_reads_is_not_kept(server: Any, check: Check) -> None:
    (found,) = read(server, check).all("pods")
    assert "managedFields" not in found["metadata"]
    assert found["spec"] == {"containers": [{"name": "c", "image": "i"}]}


def test_a_kind_that_may_not_be_read_is_unread_and_the_others_are_there(server: Any) -> None:
    server.on("GET", PODS, server.status(403, "Forbidden", "may not list pods"))
    facts = read(server, LISTED)
    assert facts.unread["pods"].reason == "Forbidden"
    assert "resources: ['pods'], verbs: ['list']" in facts.unread["pods"].todo
    assert facts.all("nodes") == ()


def test_a_window_that_cannot_be_watched_is_unread(server: Any) -> None:
    server.on("GET", PODS, server.status(403, "Forbidden", "may not"))
    facts = read(server, WATCHED)
    assert facts.known(WINDOW) is None
    assert isinstance(facts.found[WINDOW], Unread)
    assert facts.found[WINDOW].reason == "Forbidden"


def test_what_hardly_changes_is_read_while_pods_are_watched_and_once(server: Any) -> None:
    group = "apiextensions.k8s.io"
    crds = f"/apis/{group}/v1/customresourcedefinitions"
    found = {"metadata": {"name": "tfjobs.kubeflow.org"}, "spec": {"versions": [{"name": "v1", "schema": {}}]}}
    server.on("GET", crds, listing(server, found))
    facts = read(server, some_check(*WATCHED.reads, CRDS))
    (crd,) = facts.all(f"customresourcedefinitions.{group}")
    assert crd["spec"] == {"versions": [{"name": "v1"}]}
    asked = [request.path for request in server.requests]
    assert asked.count(crds) == 1
    assert asked.index(crds) < asked.index(NODES)


def test_a_further_fact_that_may_not_be_had_is_unread(server: Any) -> None:
    server.on("GET", "/readyz", server.status(403, "Forbidden", "may not look"))
    facts = read(server, some_check(READY_ANSWERS))
    assert isinstance(facts.found[READY_ANSWERS], Unread)
    assert facts.found[READY_ANSWERS].reason == "Forbidden"
    assert "Rule" not in facts.found[READY_ANSWERS].todo
    assert facts.known(READY_ANSWERS) == ()


def test_a_further_fact_that_may_not_be_had_names_the_rules_that_it_needs(server: Any) -> None:
    server.on("GET", "/readyz", server.status(403, "Forbidden", "may not look"))
    fact = replace(READY_ANSWERS, needs=(Rule("get", "", "secrets", "auth", ("hashes",)),))
    found = read(server, some_check(fact)).found[fact]
    assert "resources: ['secrets'], resourceNames: ['hashes'], verbs: ['get']" in found.todo


def test_a_server_that_answers_nothing_ends_the_run_and_not_each_check(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._RETRY_SECONDS", 0.5)
    for path in (PODS, NODES, NAMESPACES):
        server.on("GET", path, server.status(503, "ServiceUnavailable", "etcd is down"))
    with pytest.raises(ApiError, match="etcd is down"):
        read(server, LISTED)


@pytest.mark.parametrize(
    ("error", "reason", "todo"),
    [
        (ApiError(401, "Unauthorized", "token expired"), "Unauthorized", "renew the token"),
        (ApiError(403, "Forbidden", "may not"), "Forbidden", "verbs: ['list']"),
        (ApiError(0, "NoAnswer", "no answer"), "Unreachable", "health"),
        (ApiError(503, "ServiceUnavailable", "starting"), "Unreachable", "health"),
    ],
)
def test_whose_fault_it_is_decides_what_is_told(error: ApiError, reason: str, todo: str) -> None:
    found = unread("pods", error)
    assert found.reason == reason
    assert error.message in found.message
    assert todo in found.todo


@pytest.mark.parametrize(
    "item",
    [
        {"metadata": "x"},
        {"metadata": {"name": ["p"]}},
        {"metadata": {"name": "p", "labels": ["a"]}},
        {"metadata": {"name": "p", "ownerReferences": ["a"]}},
        {"metadata": {"name": "p"}, "spec": ["a"]},
        {"metadata": {"name": "p"}, "spec": {}, "status": "Running"},
    ],
    ids=str,
)
def test_a_kind_with_an_object_of_another_shape_is_unread(server: Any, item: Any) -> None:
    server.on("GET", PODS, listing(server, item))
    facts = read(server, LISTED)
    assert facts.unread["pods"].reason == ODD
    assert facts.all("nodes") == ()


def test_null_is_absent(server: Any) -> None:
    server.on("GET", NODES, listing(server, {"metadata": {"name": "n", "labels": None}, "spec": None, "status": None}))
    (found,) = read(server, LISTED).all("nodes")
    assert found.keys() == {"apiVersion", "kind", "metadata"}


def test_a_fact_that_meets_another_shape_is_unread_and_the_run_goes_on(server: Any) -> None:
    odd = Fact[Any]("odd", lambda _cluster, _facts: {"a": None}["a"]["b"], None)  # type: ignore[index]
    facts = read(server, some_check(POD_KIND, odd))
    assert isinstance(facts.found[odd], Unread)
    assert facts.found[odd].reason == ODD


def test_devices_are_read_where_they_are_served_and_lack_of_rights_is_no_end(server: Any) -> None:
    assert read(server, LISTED).read(DEVICES) == {}
    kinds = {"ResourceClaim": "resourceclaims", "DeviceClass": "deviceclasses", "ResourceSlice": "resourceslices"}
    resources = [{"kind": kind, "name": name, "namespaced": kind == "ResourceClaim"} for kind, name in kinds.items()]
    root = "/apis/resource.k8s.io/v1beta1"
    server.on("GET", root, server.reply(body={"resources": resources}))
    for name in kinds.values():
        server.on("GET", f"{root}/{name}", listing(server, {"metadata": {"name": name}}))
    assert {key: items[0]["metadata"]["name"] for key, items in read(server, LISTED).read(DEVICES).items()} == {
        f"{name}.resource.k8s.io": name for name in kinds.values()
    }
    server.on("GET", f"{root}/resourceclaims", server.status(403, "Forbidden", "no"))
    facts = read(server, LISTED)
    assert isinstance(facts.found[DEVICES], Unread)
    assert facts.found[DEVICES].reason == "Forbidden"
    assert facts.all("pods")
