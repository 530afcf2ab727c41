"""The roll-out against an API server that fails, dies and is slow, beside other hands, and against itself."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Busy, Exit
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.cluster.status import read_status
from kubeflow_volcano.rollout.state.lock import Lock
from kubeflow_volcano.rollout.state.store import NAMESPACE
from tests.faults.proxy import LOST, RESET, Asked, Fault, FaultProxy, slow, status
from tests.faults.rolling import assert_whole, obj, often, outcomes, run
from tests.integration.breaking import pods_of
from tests.waiting import until

pytestmark = pytest.mark.cluster

ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission")
LOCK = Ref("coordination.k8s.io/v1", "Lease", NAMESPACE, "rollout")


BUSY = [status(503, "ServiceUnavailable", "starting")]
WAIT = [status(429, "TooManyRequests", "slow down", Retry_After="1")]
ETCD = [
    status(500, "InternalError", "etcdserver: leader changed"),
    status(500, "InternalError", "etcdserver: request timed out"),
]
OTHERS = [
    status(504, "Timeout", "request timed out"),
    status(409, "Conflict", "Operation cannot be fulfilled: the object has been modified"),
]


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(BUSY, id="503", marks=[pytest.mark.long, pytest.mark.fault(3)]),
        pytest.param(WAIT, id="429", marks=[pytest.mark.long, pytest.mark.fault(4)]),
        pytest.param(ETCD, id="etcd", marks=[pytest.mark.long, pytest.mark.fault(5)]),
        pytest.param([*BUSY, *WAIT, *ETCD, *OTHERS], id="refused"),
        pytest.param([RESET, LOST], id="broken"),
        pytest.param([slow(1.0)], id="slow", marks=pytest.mark.fault(8)),
    ],
)
def test_trouble_that_heals_is_outlived(
    behind: tuple[FaultProxy, Cluster], cluster: Cluster, objects: list[Object], faults: list[Fault]
) -> None:
    proxy, spoilt = behind
    proxy.plan = often(*faults)
    result = run(spoilt, objects)
    assert not result.problems
    assert len(proxy.spoilt) > 5
    assert_whole(cluster, objects)


@pytest.mark.fault(4)
def test_retry_after_is_kept_to(behind: tuple[FaultProxy, Cluster], objects: list[Object]) -> None:
    proxy, spoilt = behind
    busy = status(429, "TooManyRequests", "slow down", Retry_After="2")
    first = f"/api/v1/namespaces/{objects[0]['metadata']['name']}?"
    seen: list[float] = []

    def plan(asked: Asked) -> Fault | None:
        if asked.method != "PATCH" or not asked.path.startswith(first):
            return None
        seen.append(time.monotonic())
        return busy if len(seen) == 1 else None

    proxy.plan = plan
    assert not run(spoilt, objects[:1]).problems
    assert seen[1] - seen[0] >= 2.0


def test_a_refusal_that_stays_is_told_at_once_and_holds_up_only_what_needs_it(
    cluster: Cluster, objects: list[Object]
) -> None:
    next(item for item in objects if item["kind"] == "Role")["rules"] = [{"verbs": []}]
    result = run(cluster, objects, 3600)
    (problem,) = result.problems
    assert "Role" in problem.found
    assert outcomes(result, Action.FAILED) == {"Role main"}
    assert outcomes(result, Action.HELD) == {"RoleBinding main", "Deployment main"}
    assert result.count(Action.CREATED) == len(objects) - 3


def test_all_refusals_are_told_together(cluster: Cluster, objects: list[Object]) -> None:
    for item in objects:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] in {"main-1", "main-2"}:
            item["data"] = {"not a key!": "x"}
    result = run(cluster, objects)
    assert outcomes(result, Action.FAILED) == {"ConfigMap main-1", "ConfigMap main-2"}
    assert len(result.problems) == 2


@pytest.mark.fault(1)
def test_an_api_server_that_dies_in_the_middle_is_waited_for(
    kubeconfig: Path, cluster: Cluster, behind: tuple[FaultProxy, Cluster], objects: list[Object]
) -> None:
    """The proxy only says when: at the fifth object that is sent."""
    proxy, spoilt = behind
    name = kubeconfig.parent.name
    killed: list[int] = []

    def plan(asked: Asked) -> Fault | None:
        if asked.method == "PATCH" and not killed and sum(item.method == "PATCH" for item in proxy.asked) == 5:
            (server,) = [item for item in read_status(name).daemons if item.name == "kube-apiserver"]
            killed.append(server.pid)
            os.kill(server.pid, signal.SIGKILL)
        return None

    proxy.plan = plan
    result = run(spoilt, objects)
    assert killed
    assert not result.problems
    assert spoilt.retries
    assert_whole(cluster, objects)


@pytest.mark.fault(12)
def test_a_webhook_that_comes_up_late_is_waited_for(cluster: Cluster, objects: list[Object]) -> None:
    """Volcano's admission sees the Jobs of its own; it comes back only when the roll-out has begun to wait for it."""
    namespace = objects[0]["metadata"]["name"]
    pod = {"containers": [{"name": "c", "image": "none.invalid/c:1"}]}
    tasks = [{"replicas": 1, "name": "t", "template": {"spec": pod}}]
    job = obj("Job", "late", namespace, "batch.volcano.sh/v1alpha1", spec={"schedulerName": "volcano", "tasks": tasks})
    cluster.patch(ADMISSION, {"spec": {"replicas": 0}})
    until(lambda: not pods_of(cluster, ADMISSION))  # the last one answers until it is gone
    waiting = threading.Event()
    lines: list[str] = []

    def progress(line: str) -> None:
        lines.append(line)
        if "volcano.sh" in line:
            waiting.set()

    def bring_up() -> None:
        waiting.wait(120)
        cluster.patch(ADMISSION, {"spec": {"replicas": 1}})

    helper = threading.Thread(target=bring_up)
    helper.start()
    try:
        result = run(cluster, [*objects, job], progress=progress)
    finally:
        waiting.set()
        helper.join()
    assert not result.problems
    assert any("failed calling webhook" in line for line in lines)
    assert len(lines) < 60  # it is told, not repeated
    assert_whole(cluster, [*objects, job])


def edit(cluster: Cluster, ref: Ref, manager: str, body: Object) -> None:
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
    kind = "application/merge-patch+json"
    cluster.request("PATCH", path, query={"fieldManager": manager}, body=body, content_type=kind)


@pytest.mark.fault(7)
def test_other_hands_are_set_back_shared_with_or_refused(cluster: Cluster, objects: list[Object]) -> None:
    first = run(cluster, objects)
    assert not first.problems
    brought = {item.uid for item in first.outcomes}
    maps = [Ref.of(item) for item in objects if item["kind"] == "ConfigMap"]
    edit(cluster, maps[0], "kubectl-edit", {"data": {"number": "by hand"}})
    edit(cluster, maps[1], "some-controller", {"data": {"number": "by a controller"}})
    edit(cluster, maps[2], "some-controller", {"data": {"own": "field"}})
    same = {**objects[-2], "metadata": {**objects[-2]["metadata"]}}
    cluster.apply(same, manager="somebody-else")
    unrecorded = run(cluster, objects, check=True)
    assert len(unrecorded.problems) == 2  # of what has lost all its fields, only the record knows whose it is
    would = run(cluster, objects, check=True, brought=brought)
    result = run(cluster, objects, brought=brought)
    for found in (would, result):
        assert outcomes(found, Action.CHANGED) == {f"ConfigMap {maps[0].name}"}
        (problem,) = found.problems
        assert "some-controller" in problem.found
        assert maps[1].name in problem.found
    data = [(cluster.get(ref) or {})["data"] for ref in maps[:3]]
    assert data == [{"number": "0"}, {"number": "by a controller"}, {"number": "2", "own": "field"}]


@pytest.mark.fault(16)
def test_fields_that_cannot_be_changed_are_replaced_only_where_nothing_is_lost(
    cluster: Cluster, objects: list[Object]
) -> None:
    namespace = objects[0]["metadata"]["name"]
    script = {"containers": [{"name": "c", "image": "none.invalid/c:1"}], "restartPolicy": "Never"}
    job = obj("Job", "step", namespace, "batch/v1", spec={"suspend": True, "template": {"spec": script}})
    foreign = obj("Job", "foreign", namespace, "batch/v1", spec={"suspend": True, "template": {"spec": script}})
    assert not run(cluster, [*objects, job]).problems
    cluster.create(foreign)
    before = {item["metadata"]["name"]: (cluster.get(Ref.of(item)) or {})["metadata"]["uid"] for item in (job, foreign)}

    other = {"spec": {**script, "containers": [{"name": "c", "image": "none.invalid/c:2"}]}}
    changed = [{**item, "spec": {**item["spec"], "template": other}} for item in (job, foreign)]
    binding = next(item for item in objects if item["kind"] == "RoleBinding")
    deployment = next(item for item in objects if item["kind"] == "Deployment")
    binding["roleRef"] = {**binding["roleRef"], "kind": "ClusterRole", "name": "view"}
    deployment["spec"]["selector"]["matchLabels"] = {"app": "other"}
    deployment["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    wanted = [*objects, *changed]
    would = run(cluster, wanted, check=True)
    result = run(cluster, wanted)
    for found in (would, result):
        assert outcomes(found, Action.CHANGED) == {"Job step", "RoleBinding main"}
        assert outcomes(found, Action.FAILED) == {"Job foreign", "Deployment main"}
        assert any(f"kubectl delete Deployment.apps main -n {namespace}" in item.todo for item in found.problems)
    after = {item["metadata"]["name"]: (cluster.get(Ref.of(item)) or {})["metadata"]["uid"] for item in (job, foreign)}
    assert after["step"] != before["step"]
    assert after["foreign"] == before["foreign"]


def test_check_mode_on_nothing_lists_everything_and_makes_nothing(cluster: Cluster, objects: list[Object]) -> None:
    result = run(cluster, objects, check=True)
    assert not result.problems
    assert result.count(Action.CREATED) == len(objects)
    assert cluster.get(Ref.of(objects[0])) is None


@pytest.mark.fault(20)
def test_a_second_run_is_refused_once_the_first_renews_its_lock(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.rollout.state.lock._RENEW_SECONDS", 2.0)
    with Lock(cluster, silent), pytest.raises(Busy) as refusal:
        Lock(cluster, silent).__enter__()
    assert refusal.value.exit_code is Exit.BUSY
    assert f"process {os.getpid()}" in refusal.value.problems[0].found
    with Lock(cluster, silent) as lock:
        assert not lock.lost.is_set()


@pytest.mark.fault(20)
def test_a_run_that_waits_takes_the_lock_when_it_is_released(cluster: Cluster) -> None:
    lines: list[str] = []
    with ThreadPoolExecutor() as pool:
        with Lock(cluster, silent):
            second = pool.submit(Lock(cluster, lines.append).__enter__)
            until(lambda: any("waiting for it to renew or expire" in line for line in lines))
        lock = second.result(60)
    lock.__exit__(None, None, None)
    assert not lock.lost.is_set()


@pytest.mark.fault(20)
def test_a_lock_that_ran_out_is_taken_and_its_holder_notices(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.rollout.state.lock._RENEW_SECONDS", 1.0)
    lines: list[str] = []
    with Lock(cluster, silent) as first:
        long_ago = (datetime.now(UTC) - timedelta(seconds=60)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        cluster.patch(LOCK, {"spec": {"holderIdentity": "dead", "renewTime": long_ago}})
        assert first.lost.wait(60)
        with Lock(cluster, lines.append) as second:
            assert not second.lost.wait(2.5)
    assert any("lock of dead" in line for line in lines)


def test_the_lock_outlives_an_api_server_that_does_not_answer(
    behind: tuple[FaultProxy, Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.rollout.state.lock._RENEW_SECONDS", 1.0)
    proxy, spoilt = behind
    with Lock(spoilt, silent) as lease:
        proxy.plan = lambda asked: LOST if asked.method == "PUT" else None
        time.sleep(3)
        proxy.plan = lambda _asked: None
        assert not lease.lost.wait(3)
    with pytest.raises(ApiError):
        spoilt.request("GET", "/no/such/path")
