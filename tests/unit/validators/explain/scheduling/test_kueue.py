"""What Kueue says of a job that it holds back: by its queues, its quota, its checks, and beside Volcano."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.model import Explanation, State
from kubeflow_volcano.validators.explain.scheduling.kueue import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    POD_GROUP,
    POD_GROUP_SIZE,
    QUEUE_LABEL,
    VERSIONS,
    WORKLOADS,
)
from tests.samples.jobs import SPACE, explained, member, reasons, tfjob

SERVED = {VERSIONS[0]: frozenset({"Workload", "LocalQueue", "ClusterQueue", "AdmissionCheck"})}
UNSERVED: Mapping[str, frozenset[str]] = {VERSIONS[0]: frozenset()}
NEVER = (
    "couldn't assign flavors to pod set worker: insufficient quota for cpu in flavor a, previously considered podsets "
    "requests (0) + current podset request (9) > maximum capacity (4)"
)
NOW = "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor a, 1 more needed"


def job(*, suspended: bool = True, label: str = "people", **template: Any) -> Object:
    made = tfjob(runPolicy={"suspend": suspended}, template=template or None)
    if label:
        made["metadata"]["labels"] = {QUEUE_LABEL: label}
    return made


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason or kind, "message": message}


def thing(kind: str, name: str, *told: Object, status: Object | None = None, **spec: Any) -> Object:
    meta: Object = {"name": name, "uid": f"uid-{kind}-{name}"}
    if kind in {"Workload", "LocalQueue"}:
        meta["namespace"] = SPACE
    whole = {"conditions": list(told), **(status or {})}
    return {"apiVersion": VERSIONS[0], "kind": kind, "metadata": meta, "spec": spec, "status": whole}


def workload(of: Object, *told: Object, queue: str = "people", status: Object | None = None, **spec: Any) -> Object:
    made = thing("Workload", "tfjob-mnist-1a2b3", *told, status=status, queueName=queue, **spec)
    made["metadata"]["ownerReferences"] = [{"kind": "TFJob", "name": "mnist", "uid": of["metadata"]["uid"]}]
    return made


def local(**spec: Any) -> Object:
    return thing("LocalQueue", "people", condition("Active", "True"), clusterQueue="whole", **spec)


def whole(active: Object | None = None, **spec: Any) -> Object:
    group = {"flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}
    used = {"flavorsReservation": [{"name": "a", "resources": [{"name": "cpu", "total": "3"}]}]}
    told = active or condition("Active", "True")
    return thing("ClusterQueue", "whole", told, status=used, resourceGroups=[group], **spec)


def answer(of: Object, *around: Object, **rest: Any) -> Explanation:
    return explained(of, *around, **{"discovered": SERVED, **rest})


def unquoted(reason: str, message: str) -> Object:
    return condition("QuotaReserved", "False", reason, message)


@pytest.mark.parametrize(
    ("around", "reason"),
    [
        ([], "LocalQueueMissing"),
        ([local(stopPolicy="Hold")], "LocalQueueStopped"),
        ([local()], "ClusterQueueMissing"),
        ([local(), whole(stopPolicy="HoldAndDrain")], "ClusterQueueStopped"),
        ([local(), whole(condition("Active", "False", "FlavorNotFound", "missing: b"))], "ResourceFlavorMissing"),
        ([local(), whole(condition("Active", "False", "AdmissionCheckNotFound", "x"))], "AdmissionCheckMissing"),
        ([local(), whole(condition("Active", "False", "Terminating", "x"))], "ClusterQueueInactive"),
        ([local(), whole()], "WorkloadMissing"),
    ],
)
def test_what_the_queue_lacks(around: list[Object], reason: str) -> None:
    queues = [item for item in around if item["kind"] != "LocalQueue" or "stopPolicy" not in item["spec"]]
    stopped = [*around, whole()] if len(queues) < len(around) else around
    found = answer(job(), *stopped)
    assert (found.state, reasons(found)) == (State.SUSPENDED, [reason])
    if reason != "WorkloadMissing":  # Kueue has a Workload, which says less than the queue does
        judged = workload(job(), unquoted("Inadmissible", "LocalQueue people doesn't exist"))
        assert reasons(answer(job(), *stopped, judged)) == [reason]


@pytest.mark.parametrize(
    ("reason", "message", "says"),
    [
        ("Pending", NEVER, "KueueQuotaTooSmall"),
        ("Pending", NOW, "KueueQuotaFull"),
        ("Pending", f"{NEVER}, {NOW.split(': ')[1].replace('flavor a', 'flavor b')}", "KueueQuotaFull"),
        ("Pending", f"{NEVER}; {NOW.replace('worker', 'ps')}", "KueueQuotaTooSmall"),
        ("ExceedsMaxQuota", "in other words", "KueueQuotaTooSmall"),
        ("WaitingForQuota", NEVER, "KueueQuotaFull"),
        ("Pending", "couldn't assign …: resource nvidia.com/gpu unavailable in ClusterQueue", "ResourceNotCovered"),
        ("Pending", "couldn't assign …: flavor a doesn't match node affinity", "FlavorMismatch"),
        ("NoMatchingFlavor", "x", "FlavorMismatch"),
        ("Pending", "Workload namespace doesn't match ClusterQueue selector", "NamespaceNotSelected"),
        ("PendingEvaluation", "Workload is pending evaluation in the scheduling queue", "WaitsForKueue"),
    ],
)
def test_quota_that_is_never_enough_and_quota_that_is_in_use(reason: str, message: str, says: str) -> None:
    found = answer(job(), local(), whole(), workload(job(), unquoted(reason, message)))
    assert reasons(found) == [says]
    assert message.rstrip(".") in found.findings[0].problem.found  # Kueue's own words
    (quota,) = found.findings[0].details
    assert re.findall(r"\w+ \d", quota) == ["nominalQuota 4", "reserved 3", "borrowed 0"]


def test_a_workload_that_kueue_has_not_judged() -> None:
    assert reasons(answer(job(), local(), whole(), workload(job()))) == ["WaitsForKueue"]


@pytest.mark.parametrize(
    ("state", "check", "says", "detail"),
    [
        ("Pending", [], "AdmissionCheckPending", "AdmissionCheck big does not exist"),
        ("Retry", [thing("AdmissionCheck", "big", controllerName="c")], "AdmissionCheckPending", "its controller: c"),
        ("Rejected", [thing("AdmissionCheck", "big")], "AdmissionCheckRejected", ""),
    ],
)
def test_checks_after_quota(state: str, check: list[Object], says: str, detail: str) -> None:
    states = {"admissionChecks": [{"name": "big", "state": state, "message": "m"}, {"name": "ok", "state": "Ready"}]}
    judged = workload(job(), condition("QuotaReserved", "True"), status=states)
    found = answer(job(), local(), whole(), judged, *check)
    assert reasons(found) == [says]
    assert not detail or detail in found.findings[0].details


def test_who_took_the_quota_and_what_it_waits_for_now() -> None:
    other = thing("Workload", "stronger")
    other["metadata"]["uid"] = "11111111-2222"
    message = "Preempted to accommodate a workload (UID: 11111111-2222, JobUID: 33333333-4444) due to prioritization"
    told = [
        condition("Evicted", "True", "Preempted", message),
        condition("Preempted", "True", "InClusterQueue", message),
        unquoted("Pending", NOW),
    ]
    requeue = {"requeueState": {"count": 2, "requeueAt": "2026-01-01T00:00:00Z"}}
    known = answer(job(), local(), whole(), workload(job(), *told, status=requeue), other)
    assert [(item.reason, item.blocks) for item in known.findings][:2] == [
        ("Preempted", False),
        ("KueueQuotaFull", True),
    ]
    assert f"preempted by Workload {SPACE}/stronger" in known.findings[0].details
    unknown = answer(job(), local(), whole(), workload(job(), *told))
    assert any("job-uid=33333333-4444" in line for line in unknown.findings[0].commands)


def test_a_workload_that_somebody_deactivated() -> None:
    told = condition("Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "exceeded the maximum of re-queuings")
    found = answer(job(), local(), whole(), workload(job(), told, active=False))
    assert reasons(found) == ["WorkloadDeactivated"]
    assert '\'{"spec":{"active":true}}\'' in found.findings[0].changes[0]


def test_what_kueue_has_admitted() -> None:
    admitted = [condition("QuotaReserved", "True"), condition("Admitted", "True")]
    assert reasons(answer(job(), local(), whole(), workload(job(), *admitted))) == ["AdmittedStillSuspended"]
    elsewhere = answer(job(), local(), whole(), workload(job(), *admitted, status={"clusterName": "far"}))
    assert [(item.reason, item.blocks) for item in elsewhere.findings if item.reason != "QueuedTwice"] == [
        ("OnOtherCluster", False)
    ]
    running = job(suspended=False)
    waits = condition("PodsReady", "False", "WaitForStart", "Not all pods are ready")
    found = answer(running, local(), whole(), workload(running, *admitted, waits))
    assert ("PodsReadyAwaited", False) in [(item.reason, item.blocks) for item in found.findings]
    ended = workload(running, condition("Finished", "True"), unquoted("Pending", NOW))
    assert "KueueQuotaFull" not in reasons(answer(running, local(), whole(), ended))


def test_pods_behind_kueue_s_gate() -> None:
    gate: Object = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    of = job(suspended=False, label="")
    pods = [member(of, i, spec=gate, metadata={"labels": {QUEUE_LABEL: "people"}}) for i in range(2)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [{"kind": "TFJob", "name": "mnist", "uid": of["metadata"]["uid"]}]
    held = answer(of, local(), whole(), *pods, workload(of, unquoted("Pending", NEVER)), without=["training-operator"])
    assert "KueueQuotaTooSmall" in reasons(held)
    assert "Gated" not in reasons(held)
    without = answer(of, *pods, discovered=UNSERVED)
    gated = next(item for item in without.findings if item.reason == "Gated")
    assert "serves no kueue.x-k8s.io" in gated.problem.found
    both = [
        {**pod, "spec": {**pod["spec"], "schedulingGates": [*gate["schedulingGates"], {"name": "x"}]}} for pod in pods
    ]
    more = answer(of, local(), whole(), *both, workload(of, unquoted("Pending", NEVER)))
    assert {"KueueQuotaTooSmall", "Gated"} <= {*reasons(more)}


@pytest.mark.parametrize(
    ("size", "expected"), [("3", "PodsOfGroupMissing"), ("2", "WorkloadMissing"), ("", "WorkloadMissing")]
)
def test_a_group_of_pods_that_is_not_complete(size: str, expected: str) -> None:
    of = job(suspended=False, label="")
    gate: Object = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    meta: Object = {"labels": {QUEUE_LABEL: "people", POD_GROUP: "gang"}, "annotations": {POD_GROUP_SIZE: size}}
    pods = [member(of, i, spec=gate, metadata=meta) for i in range(2)]
    pods.append(member(of, 2, spec=gate, metadata={**meta, "deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert expected in reasons(answer(of, local(), whole(), *pods))
    for pod in pods:
        pod["metadata"]["annotations"] = {**meta["annotations"], "kueue.x-k8s.io/pod-group-fast-admission": "true"}
    assert "WorkloadMissing" in reasons(answer(of, local(), whole(), *pods))


def test_a_label_that_kueue_does_not_heed() -> None:
    waiting = job(suspended=False)
    found = answer(waiting, local(), whole())
    assert ("KueueLabelNotRead", False) in [(item.reason, item.blocks) for item in found.findings]
    assert "QueuedTwice" not in reasons(found)
    known = answer(waiting, local(), whole(), workload(waiting, condition("Admitted", "True")))
    assert "KueueLabelNotRead" not in reasons(known)
    child = job(suspended=False)
    child["metadata"]["ownerReferences"] = [{"kind": "TFJob", "name": "above", "uid": "uid-above"}]
    above = workload(child, condition("Admitted", "True"))
    above["metadata"]["ownerReferences"] = [{"kind": "TFJob", "name": "above", "uid": "uid-above"}]
    assert "KueueLabelNotRead" not in reasons(answer(child, local(), whole(), above))
    unread = {WORKLOADS: Unread("Forbidden", "you may not", "grant it.")}
    assert "KueueLabelNotRead" not in reasons(answer(waiting, local(), whole(), unread=unread))


@pytest.mark.parametrize("discovered", [None, UNSERVED, SERVED])
def test_a_suspended_job_that_is_not_kueue_s(discovered: Mapping[str, frozenset[str]] | None) -> None:
    found = explained(job(label=""), discovered=discovered)
    assert reasons(found) == ["Suspended"]
    assert found.unread == ()


def test_a_job_that_waits_for_a_kueue_that_is_not_there() -> None:
    found = answer(job(), discovered=UNSERVED)
    assert reasons(found) == ["Suspended"]
    assert "LocalQueue people" in found.findings[0].problem.found


def test_volcano_and_kueue_on_one_job() -> None:
    around = [local(), whole(), workload(job(), unquoted("Pending", NOW))]
    found = answer(job(), *around)
    assert [(item.reason, item.blocks) for item in found.findings] == [("KueueQuotaFull", True), ("QueuedTwice", False)]
    other = workload(job(), condition("Admitted", "True"))
    other["metadata"]["name"] = "pod-mnist-0"
    each = next(item for item in answer(job(), *around, other).findings if item.reason == "QueuedTwice")
    assert POD_GROUP in each.problem.todo  # one Workload for each pod
    alone = answer(job(schedulerName="default-scheduler"), *around)
    assert [item.reason for item in alone.findings] == ["KueueQuotaFull"]
    assert [item.reason for item in answer(job(), *around, without=["training-operator"]).findings] == [
        "KueueQuotaFull"
    ]


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (WORKLOADS, ["ClusterQueueMissing"]),
        (LOCAL_QUEUES, ["KueueQuotaFull"]),
        (CLUSTER_QUEUES, ["KueueQuotaFull"]),
        (ADMISSION_CHECKS, ["ClusterQueueMissing"]),
    ],
)
def test_what_may_not_be_read_is_told_beside_the_rest(resource: str, expected: list[str]) -> None:
    around = [local()] + ([workload(job(), unquoted("Pending", NOW))] if resource != WORKLOADS else [])
    found = answer(job(), *around, unread={resource: Unread("Forbidden", "you may not", "grant it.")})
    assert reasons(found) == expected
    assert [item.message for item in found.unread] == ["you may not"]


def test_objects_without_what_they_usually_have() -> None:
    bare: Object = {
        "apiVersion": VERSIONS[0],
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": SPACE, "uid": "w"},
    }
    bare["metadata"]["ownerReferences"] = [{"uid": job()["metadata"]["uid"]}]
    assert reasons(answer(job(label=""), bare)) == ["LocalQueueMissing"]
    odd = {**bare, "spec": None, "status": {"conditions": None, "admissionChecks": None}}
    assert reasons(answer(job(), odd, {**local(), "spec": None, "status": None})) == ["ClusterQueueMissing"]
