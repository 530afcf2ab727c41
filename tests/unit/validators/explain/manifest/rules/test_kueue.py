"""Kueue's label in manifests: where it stands, and whether its queues exist, by files or with a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.manifest.rules.kueue import KUEUE
from kubeflow_volcano.validators.explain.scheduling.kueue import CLUSTER_QUEUES, QUEUE_LABEL, VERSIONS
from tests.samples.manifests import findings, judged, made, reasons, tfjob, vcjob

LABEL = {QUEUE_LABEL: "people"}
ON_PODS: Object = {"metadata": {"labels": LABEL}}
GROUP = {"kueue.x-k8s.io/pod-group-name": "gang"}


def queued(obj: Object, **metadata: Any) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "labels": LABEL, **metadata}}


def local(version: str = VERSIONS[0], **spec: Any) -> Object:
    return made(version, "LocalQueue", "people", spec={"clusterQueue": "whole", **spec})


def whole(active: str = "True", **spec: Any) -> Object:
    told = [{"type": "Active", "status": active, "reason": "FlavorNotFound", "message": "missing: a."}]
    return made(VERSIONS[0], "ClusterQueue", "whole", namespace="", spec=spec, status={"conditions": told})


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ([], ["LocalQueueMissing"]),
        ([local(stopPolicy="Hold"), whole()], ["LocalQueueStopped"]),
        ([local()], ["ClusterQueueMissing"]),
        ([local(), whole(stopPolicy="Hold")], ["ClusterQueueStopped"]),
        ([local(), whole("False")], ["ClusterQueueInactive"]),
        ([local(), whole()], []),
    ],
)
@pytest.mark.parametrize("obj", [queued(tfjob()), tfjob(ON_PODS)])
def test_its_queues_exist_and_admit(obj: Object, around: list[Object], expected: list[str]) -> None:
    assert reasons(obj, around=around) == expected
    assert all(item.blocks for item in findings(obj, around=around))
    assert reasons(obj, offline=True) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_files_bring_the_queues(version: str) -> None:
    files = [queued(tfjob()), local(version), {**whole(), "apiVersion": version}]
    assert reasons(*files, offline=True) == []
    assert reasons(files[0], local(version, stopPolicy="Hold"), offline=True) == ["LocalQueueStopped"]
    assert any(item.reason == "NoCluster" for item in judged(queued(tfjob()), offline=True).unread)


@pytest.mark.parametrize("blocks", [False, True], ids=["running", "suspended"])
def test_without_kueue_the_label_means_nothing_and_a_suspended_job_waits_for_ever(blocks: Any) -> None:
    batch = made("batch/v1", "Job", "b", spec={"suspend": blocks, "template": {}})
    for obj in (queued(tfjob(runPolicy={"suspend": blocks})), queued(batch)):
        (found,) = findings(obj, known={KUEUE: ""})
        assert (found.reason, found.blocks) == ("KueueMissing", blocks)
        spec = {"group": "kueue.x-k8s.io", "names": {"kind": "LocalQueue"}, "versions": [{"name": "v1beta2"}]}
        name = "localqueues.kueue.x-k8s.io"
        crd = made("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, namespace="", spec=spec)
        assert "KueueMissing" not in reasons(obj, crd, known={KUEUE: ""})


def test_what_may_not_be_read_is_told_and_not_called_missing() -> None:
    denied = {CLUSTER_QUEUES: Unread("Forbidden", "you may not list clusterqueues.", "ask.")}
    answer = judged(queued(tfjob()), around=[local()], unread=denied)
    assert not answer.warned
    assert list(answer.unread) == [*denied.values()]


@pytest.mark.parametrize(
    "obj",
    [
        queued(vcjob()),
        queued(tfjob(), labels={}, annotations=LABEL),
        queued(
            made("batch/v1", "CronJob", "c", spec={"schedule": "@daily", "jobTemplate": {"spec": {"template": {}}}})
        ),
    ],
)
def test_a_label_that_kueue_does_not_read(obj: Object) -> None:
    assert [(item.reason, item.blocks) for item in findings(obj)] == [("KueueLabelNotRead", False)]
    assert reasons(obj, offline=True) == ["KueueLabelNotRead"]


def test_the_label_of_a_cronjob_is_that_of_its_jobs() -> None:
    spec = {"jobTemplate": {"metadata": {"labels": LABEL}, "spec": {"template": {}}}}
    assert reasons(made("batch/v1", "CronJob", "c", spec=spec)) == ["LocalQueueMissing"]


def test_pods_of_a_gang_that_are_admitted_one_by_one() -> None:
    around = [local(), whole()]
    assert reasons(vcjob(ON_PODS), around=around) == ["KueuePodsOneByOne"]
    assert reasons(vcjob({"metadata": {"labels": {**LABEL, **GROUP}}}), around=around) == []
    assert reasons(tfjob(ON_PODS, policy={"minAvailable": 2}), around=around) == ["KueuePodsOneByOne"]
    assert reasons(queued(tfjob(ON_PODS, policy={"minAvailable": 2})), around=around) == []
    assert reasons(vcjob(ON_PODS, workers=1), around=around) == []


def test_two_queues_for_the_same_pods() -> None:
    assert reasons(queued(tfjob(policy={"queue": "default"})), around=[local(), whole()]) == ["QueuedTwice"]
    assert reasons(queued(tfjob(policy={"minAvailable": 2})), around=[local(), whole()]) == []


def test_a_runtime_is_in_no_namespace_of_a_queue() -> None:
    jobs = [{"name": "node", "template": {"spec": {"template": ON_PODS}}}]
    runtime = made(
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        "r",
        namespace="",
        spec={"template": {"spec": {"replicatedJobs": jobs}}},
    )
    assert reasons(runtime, offline=True) == []


def test_objects_with_other_types_than_the_api_s() -> None:
    odd = [
        queued(made("batch/v1", "CronJob", "c", spec={"jobTemplate": {"metadata": "x", "spec": {"template": {}}}})),
        queued(tfjob()),
        made(VERSIONS[0], "LocalQueue", "people", spec=["whole"]),
        made(VERSIONS[0], "ClusterQueue", "whole", namespace="", spec="x", status=None),
    ]
    assert set(reasons(*odd, offline=True)) == {"WrongType"}
