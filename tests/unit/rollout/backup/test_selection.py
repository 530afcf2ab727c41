"""Which objects a backup has, and what of them is sent."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.metadata import FIELD_MANAGER, RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.backup.selection import LeftOut, has_ended, sendable, stage_of, why_left_out


def made(api_version: str, kind: str, status: dict[str, Any] | None = None, **meta: Any) -> Object:
    obj: Object = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **meta}, "spec": {"x": 1}}
    return obj | ({"status": status} if status else {})


def job(**meta: Any) -> Object:
    return made("kubeflow.org/v1", "PyTorchJob", **meta)


OURS = {"manager": FIELD_MANAGER, "operation": "Apply"}
USERS = {"manager": "kubectl", "operation": "Apply"}


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({}, None),
        ({"managedFields": [USERS]}, None),
        ({"ownerReferences": [{"uid": "1", "kind": "Notebook"}]}, None),
        ({"managedFields": [USERS, OURS]}, LeftOut.DECLARED),
        ({"ownerReferences": [{"uid": "1", "controller": True}]}, LeftOut.DERIVED),
        ({"labels": {RUN_LABEL: "x"}}, LeftOut.EXPERIMENT),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, LeftOut.DELETED),
    ],
)
def test_what_comes_back_by_itself_is_left_out(meta: dict[str, Any], why: LeftOut | None) -> None:
    assert why_left_out(job(**meta)) is why


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": "Created", "status": "True"}, {"type": kind, "status": status}]}


@pytest.mark.parametrize(
    ("api_version", "kind", "status", "ended"),
    [
        ("kubeflow.org/v1", "PyTorchJob", condition("Succeeded"), True),
        ("kubeflow.org/v1", "PyTorchJob", condition("Succeeded", "False"), False),
        ("kubeflow.org/v1", "PyTorchJob", condition("Running"), False),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", condition("Complete"), True),
        ("kubeflow.org/v1beta1", "Experiment", condition("Failed"), True),
        ("batch.volcano.sh/v1alpha1", "Job", {"state": {"phase": "Completed"}}, True),
        ("batch.volcano.sh/v1alpha1", "Job", {"state": {"phase": "Running"}}, False),
        ("argoproj.io/v1alpha1", "Workflow", {"phase": "Error"}, True),
        ("argoproj.io/v1alpha1", "Workflow", None, False),
        ("scheduling.volcano.sh/v1beta1", "Queue", {"state": "Open"}, False),
        ("serving.kserve.io/v1beta1", "InferenceService", condition("Failed"), False),
    ],
)
def test_jobs_that_have_ended_are_recognized(
    api_version: str, kind: str, status: dict[str, Any] | None, *, ended: bool
) -> None:
    assert has_ended(made(api_version, kind, status)) is ended


def test_what_the_old_cluster_gave_is_not_sent() -> None:
    owners = [{"uid": "old", "kind": "Notebook"}, {"uid": "lost", "kind": "Notebook"}]
    saved = job(
        uid="1",
        resourceVersion="2",
        finalizers=["f"],
        labels={"l": "1"},
        annotations={"a": "1"},
        ownerReferences=owners,
    )
    sent = sendable(saved | {"status": {"x": 1}}, {"old": "new"})
    assert sent == job(labels={"l": "1"}, annotations={"a": "1"}, ownerReferences=[{"uid": "new", "kind": "Notebook"}])
    assert saved["metadata"]["uid"] == "1", "the saved object is unchanged"
    assert "ownerReferences" not in sendable(saved, {})["metadata"]


def test_a_namespace_is_sent_without_what_the_api_server_sets() -> None:
    space = made("v1", "Namespace", labels={"kubernetes.io/metadata.name": "a", "team": "b"})
    assert sendable(space, {}) == new_object("v1", "Namespace", "a", meta={"labels": {"team": "b"}})


def test_what_others_refer_to_comes_first() -> None:
    order = [
        made("kubeflow.org/v1", "Profile"),
        made("scheduling.volcano.sh/v1beta1", "Queue"),
        made("kubeflow.org/v1alpha1", "PodDefault"),
        made("kubeflow.org/v1", "Notebook"),
    ]
    assert [*map(stage_of, order)] == [0, 1, 2, 3]
    runtime = made("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime")
    assert stage_of(runtime) < stage_of(made("trainer.kubeflow.org/v1alpha1", "TrainJob"))
    template = made("argoproj.io/v1alpha1", "WorkflowTemplate")
    assert stage_of(template) < stage_of(made("argoproj.io/v1alpha1", "Workflow"))
