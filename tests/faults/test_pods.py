"""Cases 29 to 33: pods and workloads whose status deceives, hurries or is empty, as their writers would leave them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.readiness import State
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from tests.faults.kit import validators
from tests.faults.proxy import Through, altered
from tests.integration.breaking import bad, judge, made, pods_of, space
from tests.waiting import until

pytestmark = pytest.mark.cluster

OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")

BUSYBOX = "docker.io/library/busybox:1.36"
SINCE = "2026-01-01T00:00:00Z"


def pod(name: str, where: str, **meta: Any) -> Object:
    """Of a scheduler that does not exist, so that only this test writes its status."""
    spec = {"schedulerName": "nobody", "containers": [{"name": "main", "image": BUSYBOX}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": where, **meta}, "spec": spec}


def written(cluster: Cluster, made_up: Object, status: Object) -> None:
    path = cluster.resource("v1", "Pod").path(made_up["metadata"]["namespace"], made_up["metadata"]["name"])
    body = {"status": status}
    cluster.request("PATCH", f"{path}/status", body=body, content_type="application/merge-patch+json")


def container(state: Object, **more: Any) -> Object:
    return {"name": "main", "image": BUSYBOX, "imageID": "", "ready": False, "restartCount": 5, "state": state, **more}


def waiting(reason: str, message: str) -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int, reason: str) -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": SINCE, "finishedAt": SINCE}}


STATUSES = {
    "CrashLoopBackOff": {
        "containerStatuses": [container(waiting("CrashLoopBackOff", "back-off"), lastState=ended(3, "Error"))]
    },
    "OOMKilled": {
        "containerStatuses": [container(waiting("CrashLoopBackOff", "back-off"), lastState=ended(137, "OOMKilled"))]
    },
    "init": {
        "initContainerStatuses": [
            container(waiting("CrashLoopBackOff", "back-off"), name="init", lastState=ended(1, "Error"))
        ]
    },
    "ImagePullBackOff": {"containerStatuses": [container(waiting("ImagePullBackOff", "none.invalid/a:1 not found"))]},
}


@pytest.mark.long
@pytest.mark.fault(30)
def test_what_cannot_become_ready_is_decided_within_half_a_minute(cluster: Cluster) -> None:
    with space(cluster) as where, made(cluster, *(pod(name.lower(), where) for name in STATUSES)) as pods:
        for item, status in zip(pods, STATUSES.values(), strict=True):
            written(cluster, item, {"phase": "Pending", **status})
        started = time.monotonic()
        with ThreadPoolExecutor(len(pods)) as pool:
            refs = [Ref.of(item) for item in pods]
            answers = [*pool.map(lambda ref: wait_ready(cluster, [ref], Deadline(600), silent)[ref], refs)]
        assert time.monotonic() - started < 30
    assert {answer.state for answer in answers} == {State.FAILED}
    for answer, word in zip(answers, ("CrashLoopBackOff", "OOMKilled", "init", "none.invalid/a:1"), strict=True):
        assert word in f"{answer.reason} {answer.message}", answer


@pytest.mark.long
@pytest.mark.fault(31)
def test_pods_that_have_ended_well_or_are_replaced_are_no_failures(kubeconfig: Path, cluster: Cluster) -> None:
    before = judge(kubeconfig, "workloads", seconds=1)
    main = {"name": "main", "image": BUSYBOX, "command": ["true"]}
    once = {"spec": {"restartPolicy": "Never", "containers": [main]}}
    with space(cluster) as where:
        job = new_object("batch/v1", "Job", "once", where, spec={"template": once})
        (running,) = pods_of(cluster, OPERATOR)
        with made(cluster, job, pod("operator-old", OPERATOR.namespace)) as (_, item):
            until(lambda: (cluster.get(Ref.of(job)) or {}).get("status", {}).get("succeeded"))
            written(cluster, item, {"phase": "Failed", "reason": "Evicted", "message": "low on memory"})
            # Only now, as a ReplicaSet deletes pods that are too many, unless they have ended.
            like = {key: running["metadata"][key] for key in ("labels", "ownerReferences")}
            cluster.patch(Ref.of(item), {"metadata": like})
            found = judge(kubeconfig, "workloads", seconds=1)
    assert bad(before) == {}
    assert (bad(found), found["C6"][0]) == ({"C6": "Evicted"}, "warn")


@pytest.mark.long
@pytest.mark.fault(32)
def test_a_status_of_an_older_generation_is_no_pass(through: Through) -> None:
    proxy, kubeconfig = through

    def newer(answer: Any) -> None:
        for item in answer["items"]:
            if item["metadata"]["name"] == "training-operator":
                item["metadata"]["generation"] += 1

    proxy.plan = lambda asked: altered(newer) if asked.path.startswith("/apis/apps/v1/deployments") else None
    found = judge(kubeconfig, "C2", seconds=1)
    assert found["C2"] == ("fail", "NotObserved")


@pytest.mark.fault(33)
def test_a_cluster_without_any_pod_or_workload_is_no_pass(through: Through) -> None:
    proxy, kubeconfig = through
    kinds = ("/api/v1/pods", "/apis/apps/v1/", "/apis/batch/v1/")
    empty = altered(lambda answer: answer["items"].clear() if "items" in answer else None)
    proxy.plan = lambda asked: empty if asked.path.startswith(kinds) and "?" in asked.path else None
    found = judge(kubeconfig, "C1", "C2", "C6", "F1", "G1", seconds=1)
    assert {id_ for id_, (status, _) in found.items() if status == "pass"} == set(), found
    assert {found[id_][0] for id_ in ("F1", "G1")} <= {"fail", "skip"}
    assert "fail" in {status for status, _ in found.values()}


@pytest.mark.fault(33)
def test_a_context_that_does_not_exist_ends_with_3_and_is_named(kubeconfig: Path, tmp_path: Path) -> None:
    arguments = ("--kubeconfig", str(kubeconfig), "--context", "wrong", "--report-dir", str(tmp_path), "--quiet")
    done = validators(*arguments)
    assert done.returncode in {2, 3}, done
    assert "wrong" in done.stdout + done.stderr
    assert str(kubeconfig) in done.stdout + done.stderr
