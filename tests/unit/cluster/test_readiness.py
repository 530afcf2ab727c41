"""The readiness table, kind by kind, on object texts as controllers write them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.readiness import State, assess, assess_pod


def workload(kind: str, spec: dict[str, Any], status: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "ns", "generation": generation},
        "spec": spec,
        "status": status,
    }


def condition(kind: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, **more}


def deployment(spec: dict[str, Any] | None = None, generation: int = 1, **status: Any) -> dict[str, Any]:
    good = {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "availableReplicas": 2,
    }
    return workload("Deployment", {"replicas": 2} | (spec or {}), good | status, generation)


def progressing(reason: str) -> list[dict[str, Any]]:
    return [condition("Progressing", "False", reason=reason)]


def refused(message: str) -> list[dict[str, Any]]:
    return [condition("ReplicaFailure", reason="FailedCreate", message=message)]


@pytest.mark.fault(32)
@pytest.mark.parametrize(
    ("obj", "state", "reason"),
    [
        (deployment(), State.READY, "Available"),
        (deployment(generation=2), State.WAIT, "NotObserved"),
        (deployment(replicas=3), State.WAIT, "OldReplicas"),
        (deployment(updatedReplicas=1), State.WAIT, "ReplicasNotAvailable"),
        (deployment(availableReplicas=1, unavailableReplicas=1), State.WAIT, "ReplicasNotAvailable"),
        (deployment(unavailableReplicas=1), State.WAIT, "ReplicasNotAvailable"),
        (deployment({"replicas": 0}), State.SKIP, "ScaledToZero"),
        (deployment({"paused": True}), State.FAILED, "Paused"),
        (
            deployment(availableReplicas=0, conditions=progressing("ProgressDeadlineExceeded")),
            State.FAILED,
            "ProgressDeadlineExceeded",
        ),
        (deployment(availableReplicas=0, conditions=refused("exceeded quota: q")), State.FAILED, "ReplicaFailure"),
        (
            deployment(availableReplicas=0, conditions=refused('failed calling webhook "mutatepod.volcano.sh"')),
            State.WAIT,
            "ReplicaFailure",
        ),
    ],
)
def test_deployment(obj: dict[str, Any], state: State, reason: str) -> None:
    answer = assess(obj)
    assert (answer.state, answer.reason) == (state, reason)
    assert answer.message.startswith("Deployment ns/w ")


def test_a_new_object_without_status_waits() -> None:
    obj = deployment()
    obj["status"] = {}
    assert assess(obj).state is State.WAIT


def test_message_has_the_numbers() -> None:
    answer = assess(deployment(availableReplicas=1, unavailableReplicas=1))
    assert "1 of 2 " in answer.message


def stateful(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    good = {
        "observedGeneration": 1,
        "readyReplicas": 1,
        "updatedReplicas": 1,
        "currentRevision": "a",
        "updateRevision": "a",
    }
    return workload("StatefulSet", {"replicas": 1} | (spec or {}), good | status)


def daemons(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    good = {"observedGeneration": 1, "desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": 2}
    return workload("DaemonSet", spec or {}, good | status)


def job(*found: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return workload("Job", spec, {"conditions": list(found), "active": 1})


@pytest.mark.fault(32)
@pytest.mark.parametrize(
    ("obj", "state"),
    [
        (stateful(), State.READY),
        (stateful(readyReplicas=0), State.WAIT),
        (stateful(updateRevision="b"), State.WAIT),
        (stateful({"updateStrategy": {"type": "OnDelete"}}, updateRevision="b", updatedReplicas=0), State.READY),
        (stateful({"replicas": 0}), State.SKIP),
        (daemons(), State.READY),
        (daemons(numberReady=1), State.WAIT),
        (daemons(updatedNumberScheduled=1), State.WAIT),
        (daemons(desiredNumberScheduled=0, numberReady=0, updatedNumberScheduled=0), State.SKIP),
        (job(condition("Complete")), State.READY),
        (job(condition("Failed", reason="BackoffLimitExceeded", message="limit")), State.FAILED),
        (job(), State.WAIT),
        (job(suspend=True), State.WAIT),
    ],
)
def test_other_workloads(obj: dict[str, Any], state: State) -> None:
    assert assess(obj).state is state


def pod(phase: str, *statuses: dict[str, Any], ready: str = "False", **more: Any) -> dict[str, Any]:
    status = {"phase": phase, "containerStatuses": list(statuses), "conditions": [condition("Ready", ready)], **more}
    return {"metadata": {"name": "p", "namespace": "ns"}, "status": status}


def container(state: dict[str, Any], *, ready: bool = False, last: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "name": "c",
        "image": "example.com/app:1",
        "state": state,
        "lastState": last or {},
        "ready": ready,
        "restartCount": 3,
    }


RUNNING: dict[str, Any] = {"running": {}}


def waiting(reason: str, message: str = "because") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


OOM = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}


@pytest.mark.parametrize(
    ("obj", "state", "reason"),
    [
        (pod("Running", container(RUNNING, ready=True), ready="True"), State.READY, "Ready"),
        (pod("Running", container(RUNNING)), State.WAIT, "NotReady"),
        (pod("Running", container(RUNNING, ready=True, last=OOM), ready="True"), State.READY, "Ready"),
        (pod("Running", container(RUNNING, last=OOM)), State.FAILED, "OOMKilled"),
        (pod("Running", container(waiting("CrashLoopBackOff"))), State.FAILED, "CrashLoopBackOff"),
        (pod("Pending", container(waiting("ImagePullBackOff"))), State.FAILED, "ImagePullBackOff"),
        (pod("Pending", container(waiting("ErrImageNeverPull"))), State.FAILED, "ErrImageNeverPull"),
        (pod("Pending", container(waiting("ContainerCreating"))), State.WAIT, "NotReady"),
        (pod("Pending", container(waiting("CreateContainerConfigError"))), State.WAIT, "NotReady"),
        (pod("Pending", initContainerStatuses=[container(waiting("CrashLoopBackOff"))]), State.FAILED, None),
        (pod("Succeeded"), State.SKIP, "Succeeded"),
        (pod("Failed", reason="Evicted", message="low on memory"), State.FAILED, "Evicted"),
    ],
)
def test_pod(obj: dict[str, Any], state: State, reason: str | None) -> None:
    answer = assess_pod(obj)
    assert answer.state is state
    assert reason is None or answer.reason == reason


def test_pod_that_is_being_deleted_is_ignored() -> None:
    obj = pod("Running")
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert assess_pod(obj).state is State.SKIP


def test_unschedulable_pod_repeats_the_schedulers_words() -> None:
    obj = pod("Pending")
    obj["status"]["conditions"] = [
        condition("PodScheduled", "False", reason="Unschedulable", message="0/5 nodes are available")
    ]
    answer = assess_pod(obj)
    assert (answer.state, answer.reason) == (State.WAIT, "Unschedulable")
    assert "0/5 nodes are available" in answer.message


def test_bad_image_is_named() -> None:
    answer = assess_pod(pod("Pending", container(waiting("ErrImagePull", "not found"))))
    assert "example.com/app:1" in answer.message
    assert "not found" in answer.message


def test_failed_pod_names_the_container_that_ended_badly() -> None:
    ended = {"terminated": {"reason": "Error", "exitCode": 2}}
    assert re.search("container c .*Error, .*2", assess_pod(pod("Failed", container(ended))).message)


@pytest.mark.parametrize(("count", "words"), [(1, "1 restart,"), (3, "3 restarts,")])
def test_a_crash_loop_names_the_container_and_counts_its_restarts(count: int, words: str) -> None:
    crashing = container(waiting("CrashLoopBackOff"), last={"terminated": {"exitCode": 2}}) | {"restartCount": count}
    message = assess_pod(pod("Running", crashing)).message
    assert re.search(f"container c .*CrashLoopBackOff.*{words} .*2", message)


def other(api_version: str, kind: str, status: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", **meta}, "status": status}


CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@pytest.mark.parametrize(
    ("obj", "state"),
    [
        (other(*CRD, {"conditions": [condition("Established"), condition("NamesAccepted")]}), State.READY),
        (other(*CRD, {"conditions": [condition("NamesAccepted")]}), State.WAIT),
        (other(*CRD, {}), State.WAIT),
        (other(*CRD, {"conditions": [condition("NamesAccepted", "False", message="taken")]}), State.FAILED),
        (other("apiregistration.k8s.io/v1", "APIService", {"conditions": [condition("Available")]}), State.READY),
        (other("apiregistration.k8s.io/v1", "APIService", {}), State.WAIT),
        (
            other(
                "cert-manager.io/v1",
                "Certificate",
                {"conditions": [condition("Ready", observedGeneration=1)]},
                generation=2,
            ),
            State.WAIT,
        ),
        (other("v1", "Namespace", {"phase": "Active"}), State.READY),
        (other("v1", "Namespace", {"phase": "Active"}, deletionTimestamp="now"), State.WAIT),
        (other("v1", "PersistentVolumeClaim", {"phase": "Pending"}), State.WAIT),
        (other("v1", "PersistentVolumeClaim", {"phase": "Lost"}), State.FAILED),
        (other("v1", "PersistentVolume", {"phase": "Failed"}), State.FAILED),
        (other("v1", "Node", {"conditions": [condition("Ready")]}), State.READY),
        (other("v1", "Node", {"conditions": [condition("Ready"), condition("DiskPressure")]}), State.WAIT),
        (other("v1", "Node", {"conditions": [condition("Ready", "Unknown")]}), State.WAIT),
        (other("scheduling.volcano.sh/v1beta1", "Queue", {"state": "Open"}), State.READY),
        (other("scheduling.volcano.sh/v1beta1", "Queue", {"state": "Closed"}), State.FAILED),
        (other("scheduling.volcano.sh/v1beta1", "Queue", {}), State.WAIT),
        (other("v1", "ConfigMap", {}), State.READY),
    ],
)
def test_other_kinds(obj: dict[str, Any], state: State) -> None:
    assert assess(obj).state is state


def test_skip_counts_as_nothing_left_to_wait_for() -> None:
    assert assess(deployment({"replicas": 0})).ready
    assert not assess(deployment(generation=2)).ready
