"""What a manifest needs of the cluster: kind, namespace, queue, PriorityClass."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from tests.samples.manifests import findings, judged, made, reasons, tfjob, vcjob

QUEUE = made("scheduling.volcano.sh/v1beta1", "Queue", "gold", namespace="", status={"state": "Open"})
CLASS = made("scheduling.k8s.io/v1", "PriorityClass", "high", namespace="")


def test_a_kind_that_is_not_served_is_named_with_the_version_that_is() -> None:
    (found,) = findings(made("batch/v1beta1", "CronJob", "c", spec={"jobTemplate": {}}))
    assert found.reason == "KindNotServed"
    assert "CronJob in batch/v1" in found.problem.found
    (other,) = findings(made("kubeflow.org/v1", "TFJobs", "t"))
    for word in ("kubeflow.org", "TFJobs", "mean TFJob?"):
        assert word in other.problem.found
    assert reasons(tfjob()) == []


def test_a_kind_that_the_files_bring_may_be_missing_on_the_cluster() -> None:
    spec = {"group": "example.org", "names": {"kind": "Thing"}, "versions": [{"name": "v1"}]}
    crd = made("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.org", namespace="", spec=spec)
    assert reasons(made("example.org/v1", "Thing", "t")) == ["KindNotServed"]
    assert "KindNotServed" not in [
        item.reason for item in judged(crd, made("example.org/v1", "Thing", "t")).manifests[1].findings
    ]


@pytest.mark.parametrize(
    ("manifest", "missing", "around"),
    [
        (tfjob(policy={"queue": "gold"}), "QueueMissing", QUEUE),
        (vcjob(queue="gold"), "QueueMissing", QUEUE),
        (tfjob({"spec": {"priorityClassName": "high"}}), "PriorityClassMissing", CLASS),
        (vcjob(priorityClassName="high"), "PriorityClassMissing", CLASS),
        (
            {**tfjob(), "metadata": {"name": "mnist", "namespace": "team-b"}},
            "NamespaceMissing",
            made("v1", "Namespace", "team-b", namespace=""),
        ),
    ],
)
def test_what_is_named_exists_on_the_cluster_or_in_the_files(manifest: Object, missing: str, around: Object) -> None:
    assert reasons(manifest) == [missing]
    assert reasons(manifest, around=[around]) == []
    assert missing not in reasons(manifest, around, offline=True)


def test_a_priority_class_of_the_job_alone_does_not_keep_its_pods_away() -> None:
    found = findings(tfjob(policy={"priorityClass": "high"}))
    assert {item.reason: item.blocks for item in found} == {"PriorityClassMissing": False, "PriorityOfGroupOnly": False}
    assert [item.blocks for item in findings(tfjob({"spec": {"priorityClassName": "high"}}))] == [True]


def test_a_queue_that_is_closed_takes_no_jobs() -> None:
    assert reasons(tfjob(policy={"queue": "gold"}), around=[{**QUEUE, "status": {"state": "Closed"}}]) == [
        "QueueClosed"
    ]


def test_what_may_not_be_read_is_told_and_not_called_missing() -> None:
    denied: dict[str, Any] = {"queues.scheduling.volcano.sh": Unread("Forbidden", "you may not list queues.", "ask.")}
    answer = judged(tfjob(policy={"queue": "gold"}), unread=denied)
    assert not answer.warned
    assert list(answer.unread) == [*denied.values()]


def test_pods_that_volcano_schedules_without_a_job_name_their_queue_themselves() -> None:
    template: Object = {
        "metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "gold"}},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    }
    pods = made("apps/v1", "Deployment", "web", spec={"template": template})
    assert reasons(pods) == ["QueueMissing"]
    assert reasons(pods, around=[QUEUE]) == []
    template["spec"]["schedulerName"] = "default-scheduler"
    assert reasons(pods) == []


def test_names_that_no_service_may_have_are_told_before_the_job_is_created() -> None:
    long = tfjob()
    long["metadata"]["name"] = "recommender-two-tower-retrieval-nightly-full-dataset-261127"
    (found,) = findings(long)
    assert (found.reason, found.blocks) == ("ServiceNameInvalid", True)
    assert "it has 68 characters" in found.problem.found
    dotted, digit = tfjob(), tfjob()
    dotted["metadata"]["name"], digit["metadata"]["name"] = "finetune.v2", "7b-finetune"
    assert reasons(dotted) == ["ServiceNameInvalid"]
    assert [(item.reason, item.blocks) for item in findings(digit)] == [("ServiceNameInvalid", False)]


def test_a_runtime_of_the_namespace_is_named_with_its_kind() -> None:
    group = "trainer.kubeflow.org/v1alpha1"
    runtime = made(group, "TrainingRuntime", "ours", spec={"template": {"spec": {"replicatedJobs": []}}})
    job = made(group, "TrainJob", "j", spec={"runtimeRef": {"name": "ours"}})
    assert reasons(job, runtime, offline=True) == ["RuntimeMissing"]
    assert reasons(job, {**runtime, "kind": "ClusterTrainingRuntime"}, offline=True) == []
    assert reasons(job, offline=True) == []
    elsewhere = made(group, "TrainingRuntime", "ours", namespace="team-b", spec=runtime["spec"])
    assert reasons(job, elsewhere, offline=True) == []
    right = made(group, "TrainJob", "j", spec={"runtimeRef": {"name": "ours", "kind": "TrainingRuntime"}})
    assert reasons(right, runtime, offline=True) == []


def test_a_kind_in_another_group_of_the_same_project_is_found_without_a_cluster() -> None:
    assert reasons(made("batch.volcano.sh/v1alpha1", "JobTemplate", "t"), offline=True) == ["KindNotServed"]
    assert "KindNotServed" not in reasons(made("flow.volcano.sh/v1alpha1", "JobTemplate", "t"), offline=True)
    assert "KindNotServed" not in reasons(made("batch.volcano.sh/v1alpha1", "Whatever", "t"), offline=True)
    assert "KindNotServed" not in reasons(made("example.org/v1", "JobTemplate", "t"), offline=True)
