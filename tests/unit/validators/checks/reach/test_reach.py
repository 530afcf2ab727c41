"""A1 to A3 on literal facts: the API server, the caller's rights, the clocks."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.reach.api_server import (
    EXPIRED_LEASES,
    OWN_ACCESS,
    READY_ANSWERS,
    api_server,
    own_permissions,
)
from kubeflow_volcano.validators.checks.reach.clock import CLOCKS, Clocks, clock_skew, clocks, drift, narrowed
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Outcome, Status
from kubeflow_volcano.validators.core.rights import Rule
from tests.samples.facts import facts, instant, node, obj, pod, ref

OK = ("ok", "ok", "ok")


def test_a_ready_server_inside_the_range_passes_and_is_named() -> None:
    outcome = api_server(facts(known={READY_ANSWERS: OK}))
    assert (outcome.status, [str(item) for item in outcome.objects]) == (Status.PASS, ["Service default/kubernetes"])


def test_one_bad_answer_of_three_fails() -> None:
    outcome = api_server(facts(known={READY_ANSWERS: ("ok", "500 etcd failed", "ok")}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotReady")
    assert "etcd failed" in outcome.message


@pytest.mark.parametrize(("version", "status"), [("v1.29.0", "pass"), ("v1.28.15", "fail"), ("v1.35.4+k3s1", "pass")])
def test_the_server_version_is_held_against_the_release(version: str, status: str) -> None:
    outcome = api_server(facts(known={READY_ANSWERS: OK}, server_version=version))
    assert outcome.status == status
    assert version in outcome.message


def test_readyz_is_asked_again_where_the_server_is_busy_and_believed_where_it_is_not_ready(api: Any) -> None:
    sick = api.reply(500, b"[-]etcd failed: reason withheld\nreadyz check failed")
    busy = api.status(503, "ServiceUnavailable", "busy")
    broken = api.reply(lines=["x"], cut=True)
    api.on("GET", "/readyz", busy, api.reply(reset=True), api.reply(body=b"ok"), broken, sick, api.reply(body=b"ok"))
    first, second, third = READY_ANSWERS.fetch(api.connect(), facts())
    assert (first, third) == ("ok", "ok")
    assert "etcd failed" in second


def test_readyz_that_may_not_be_asked_cannot_be_judged() -> None:
    with pytest.raises(CannotJudgeError, match="no"):
        api_server(facts(known={READY_ANSWERS: Unread("Forbidden", "no", "ask")}))


def stopped(*pods: Object, program: str = "kube-controller-manager", **more: Any) -> Outcome:
    return api_server(facts(*pods, known={READY_ANSWERS: OK, EXPIRED_LEASES: {program: instant(300)}}, **more))


def test_a_controller_manager_that_renews_no_lease_and_makes_no_pod_fails() -> None:
    outcome = stopped(pod("ns/old", owner="a"), young("Pod", "ns/by-hand"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoControllers")
    assert [str(item) for item in outcome.objects] == ["Lease kube-system/kube-controller-manager"]
    assert "H1" in outcome.refuted_by
    assert stopped(probe_namespace="mine").refuted_by == ()  # which needs nobody to prepare it


def test_a_controller_manager_that_makes_pods_acts_whatever_its_lease_says() -> None:
    assert stopped(young("ReplicaSet", "ns/new")).status is Status.PASS


def test_a_scheduler_that_renews_no_lease_and_places_no_pod_fails() -> None:
    outcome = stopped(placed(400), placed(100, "volcano"), program="kube-scheduler")
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoScheduler")
    assert [str(item) for item in outcome.objects] == ["Lease kube-system/kube-scheduler"]
    assert "D5" in outcome.refuted_by
    assert stopped(placed(100), program="kube-scheduler").status is Status.PASS


def placed(ago: float, scheduler: str = "default-scheduler") -> Object:
    made = pod("ns/placed")
    made["spec"]["schedulerName"] = scheduler
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": instant(ago)}]
    return made


def young(maker: str, name: str) -> Object:
    made = pod(name, owner=f"{maker}/a")
    made["metadata"]["creationTimestamp"] = instant(100)
    return made


PODS = Rule("list", "", "pods")
SECRETS = Rule("get", "", "secrets", "volcano-system")


def test_a_caller_who_may_do_everything_passes_and_the_rules_are_counted() -> None:
    outcome = own_permissions(facts(known={OWN_ACCESS: {PODS: True, SECRETS: True}}))
    assert outcome.status is Status.PASS
    assert "all 2 rules" in outcome.message


def test_what_may_not_be_done_is_an_error_with_its_rule_for_its_place() -> None:
    outcome = own_permissions(facts(known={OWN_ACCESS: {PODS: True, SECRETS: False}}))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Forbidden")
    assert "secrets in volcano-system" in outcome.message
    assert "# in namespace volcano-system\n- {apiGroups: [''], resources: ['secrets'], verbs: ['get']}" in outcome.todo


def test_each_rule_is_asked_where_it_must_hold(api: Any) -> None:
    kinds = [{"kind": "SelfSubjectAccessReview", "name": "selfsubjectaccessreviews", "namespaced": False}]
    api.on("GET", "/apis/authorization.k8s.io/v1", api.reply(body={"resources": kinds}))

    def review(request: Any) -> Any:
        asked = request.body["spec"]["resourceAttributes"]
        return api.reply(body={"status": {"allowed": asked.get("namespace") == "volcano-system"}})

    api.on("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    rights = {"": {PODS}, "volcano-system": {replace(SECRETS, namespace="")}}
    there = facts(obj("Namespace", "volcano-system"), rights=rights | {"not-there": {SECRETS}})
    assert OWN_ACCESS.fetch(api.connect(), there) == {PODS: False, SECRETS: True}


def test_a_server_that_is_busy_for_a_moment_still_tells_the_time(api: Any) -> None:
    cluster = api.connect()
    api.on("GET", "/version", api.status(503, "ServiceUnavailable", "busy"), api.reply(body={}))
    kinds = [{"kind": "Lease", "name": "leases", "namespaced": True}]
    api.on("GET", "/apis/coordination.k8s.io/v1", api.reply(body={"resources": kinds}))
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    api.on("GET", path, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": []}))
    low, high = clocks(cluster, facts()).server
    assert low <= 0 <= high


def test_without_any_rule_nothing_was_proved() -> None:
    assert own_permissions(facts()).reason == "NothingAsked"


TOGETHER = (-0.4, 0.6)


def timed(server: tuple[float, float] = TOGETHER, **nodes: tuple[float, float]) -> Facts:
    return facts(node(), known={CLOCKS: Clocks(server, nodes)})


def test_clocks_that_agree_pass_and_simulated_nodes_have_none() -> None:
    simulated = node("gpu-1", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    outcome = clock_skew(facts(node(), simulated, known={CLOCKS: Clocks(TOGETHER, {"n1": TOGETHER})}))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["kubernetes", "n1"])
    assert "1 simulated" in outcome.message


@pytest.mark.parametrize(
    ("found", "status", "who"),
    [
        (timed((7.0, 8.0), n1=TOGETHER), Status.WARN, "this host"),
        (timed((-601.0, -600.0), n1=TOGETHER), Status.FAIL, "this host"),
        (timed(n1=(-31.0, -30.0)), Status.WARN, "node n1"),
        (timed(n1=(600.0, 601.0)), Status.FAIL, "node n1"),
    ],
)
def test_clocks_apart_warn_from_5_s_and_fail_from_60_s(found: Facts, status: Status, who: str) -> None:
    outcome = clock_skew(found)
    assert (outcome.status, outcome.reason) == (status, "ClockSkew")
    assert who in outcome.message


def test_a_slow_answer_is_no_proof_of_a_wrong_clock() -> None:
    assert clock_skew(timed((-9.0, 8.0), n1=TOGETHER)).status is Status.PASS


def test_a_node_whose_clock_is_not_told_is_no_pass() -> None:
    outcome = clock_skew(timed())
    assert (outcome.status, outcome.reason, outcome.because) == (
        Status.ERROR,
        "NotTold",
        (frozenset({ref("Node", "n1")}),),
    )


def lease(renewed: str, written: str, field: str = "f:renewTime") -> dict[str, Any]:
    managed = [{"manager": "kubelet", "time": written, "fieldsV1": {"f:spec": {field: {}}}}]
    meta = {"name": "n1", "namespace": "kube-node-lease", "managedFields": managed}
    return {"metadata": meta, "spec": {"renewTime": renewed}}


def test_a_renewal_is_held_against_the_api_servers_time_of_the_same_write() -> None:
    low, high = drift(lease("2027-01-15T08:00:30.500000Z", "2027-01-15T08:00:00Z")) or (0.0, 0.0)
    assert (round(low, 3), round(high, 3)) == (29.5, 30.5)
    assert drift(lease("2027-01-15T08:00:30.500000Z", "2027-01-15T08:00:00Z", "f:holderIdentity")) is None


def test_where_only_the_first_renewal_is_noted_a_node_that_lives_has_renewed_before_its_lease_ran_out() -> None:
    now = datetime.fromisoformat("2027-01-15T09:00:00Z").timestamp()
    bounds = [
        drift(lease(f"2027-01-15T{renewed}.000000Z", "2027-01-15T08:00:00Z"), now)
        for renewed in ("08:59:51", "08:58:50", "09:10:00")
    ]
    assert bounds == [(-9.0, 31.0), (-70.0, -30.0), (600.0, 640.0)]
    outcomes = [clock_skew(timed(n1=item or (0.0, 0.0))) for item in bounds]
    assert [str(item.status) for item in outcomes] == ["pass", "warn", "fail"]


def test_an_older_server_is_not_taken_to_note_every_renewal(api: Any) -> None:
    api.on("GET", "/version", api.reply(body={"gitVersion": "v1.22.17"}))
    kinds = [{"kind": "Lease", "name": "leases", "namespaced": True}]
    api.on("GET", "/apis/coordination.k8s.io/v1", api.reply(body={"resources": kinds}))
    renewed = datetime.now(UTC).isoformat()
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    items = [lease(renewed, "2025-01-15T08:00:00Z")]
    api.on("GET", path, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": items}))
    low, high = clocks(api.connect(), facts()).nodes["n1"]
    assert low <= 0 <= high


def test_samples_narrow_the_bounds_until_a_clock_is_set() -> None:
    assert narrowed(iter([(-1.0, 3.0), (-2.0, 1.0)])) == (-1.0, 1.0)
    assert narrowed(iter([(-1.0, 1.0), (9.0, 10.0)])) == (9.0, 10.0)


def test_the_servers_clock_is_read_from_its_answers(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api.on("GET", "/version", api.reply(body={"gitVersion": "v1.30.2"}))
    kinds = [{"kind": "Lease", "name": "leases", "namespaced": True}]
    api.on("GET", "/apis/coordination.k8s.io/v1", api.reply(body={"resources": kinds}))
    items = [lease("2027-01-15T08:00:02.000000Z", "2027-01-15T08:00:00Z")]
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    api.on("GET", path, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": items}))
    cluster = api.connect()
    behind = SimpleNamespace(time=lambda: time.time() - 100, sleep=time.sleep)
    monkeypatch.setattr("kubeflow_volcano.validators.checks.reach.clock.time", behind)
    found = clocks(cluster, facts())
    assert 97 < found.server[0] < 100 < found.server[1] < 103
    assert found.nodes == {"n1": (1.0, 2.0)}


NOT_READY = {"conditions": [{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}]}


def test_a_lost_node_without_a_clock_is_for_the_check_of_nodes() -> None:
    found = facts(node(), node("n2", status=NOT_READY), known={CLOCKS: Clocks(TOGETHER, {"n1": TOGETHER})})
    outcome = clock_skew(found)
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["kubernetes", "n1"])
    assert "not compared: n2." in outcome.message


@pytest.mark.parametrize(("version", "status"), [("v1.30.2", Status.FAIL), ("v1.22.17", Status.PASS)])
def test_a_lost_nodes_last_renewal_counts_where_the_time_of_that_write_is_noted(version: str, status: Status) -> None:
    behind = {CLOCKS: Clocks(TOGETHER, {"n1": TOGETHER, "n2": (-900.0, -800.0)})}
    found = facts(node(), node("n2", status=NOT_READY), known=behind, server_version=version)
    assert clock_skew(found).status is status
