"""Whose an object is: users' failures are warnings that name the owner, and the platform's own pods stay judged."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.workloads.workloads import deployments
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.subjects import ownership, pods, services
from tests.samples.facts import deployment, facts, obj, pod

PROFILE = obj(
    "Namespace",
    "alice",
    metadata={
        "annotations": {"owner": "alice@example.com"},
        "ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "Profile", "name": "alice", "controller": True}],
    },
)


def controlled(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {"ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": name, "controller": True}]}


def notebook(namespace: str) -> tuple[Object, Object]:
    """The StatefulSet of a Notebook, and its pod, whose image is misspelt."""
    waiting = {"reason": "ImagePullBackOff", "message": "manifest unknown"}
    status = {
        "phase": "Pending",
        "containerStatuses": [{"name": "main", "ready": False, "state": {"waiting": waiting}}],
    }
    stateful = obj(
        "StatefulSet",
        f"{namespace}/lab",
        metadata={"generation": 1, **controlled("kubeflow.org/v1", "Notebook", "lab")},
        spec={"replicas": 1, "template": {"metadata": {"labels": {}}, "spec": {}}},
        status={"observedGeneration": 1, "replicas": 1, "readyReplicas": 0, "updatedReplicas": 1},
    )
    return stateful, pod(f"{namespace}/lab-0", metadata=controlled("apps/v1", "StatefulSet", "lab"), status=status)


def test_a_notebooks_missing_image_is_a_warning_that_names_its_owner() -> None:
    (found,) = pods.issues(facts(PROFILE, *notebook("alice")))
    assert (found.check, found.status, found.gravity) == ("A6", Status.WARN, Status.FAIL)
    assert "Notebook" in found.owner
    assert "alice@example.com" in found.owner


def test_a_notebook_in_the_releases_namespace_is_its_authors_too() -> None:
    (found,) = pods.issues(facts(*notebook("kubeflow")))
    assert found.status is Status.WARN


def test_the_same_pod_of_the_release_fails() -> None:
    _, broken = notebook("kubeflow")
    broken["metadata"]["ownerReferences"] = []
    (found,) = pods.issues(facts(broken))
    assert (found.status, found.gravity) == (Status.FAIL, None)


@pytest.mark.parametrize(
    ("owner", "status"),
    [
        (controlled("v1", "Namespace", "alice"), Status.FAIL),
        ({}, Status.WARN),
    ],
    ids=["of the platform", "of the user"],
)
def test_what_the_platform_puts_into_a_profile_stays_judged(owner: dict[str, Any], status: Status) -> None:
    artifacts = deployment("alice/ml-pipeline-ui-artifact", available=0)
    artifacts["metadata"] |= owner
    assert deployments(facts(PROFILE, artifacts)).status is status


def test_a_workload_that_the_release_expects_is_the_releases_wherever_it_is() -> None:
    live = deployment("elsewhere/operator", available=0)
    assert deployments(facts(live, workloads=["training-operator Deployment elsewhere/operator"])).status is Status.FAIL
    assert deployments(facts(live)).status is Status.WARN


def test_a_users_service_without_a_ready_pod_warns() -> None:
    service = obj("Service", "alice/web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    crashed = pod("alice/web-1", owner="web", status={"phase": "Running", "conditions": [], "containerStatuses": []})
    found = services.issues(facts(PROFILE, service, crashed))
    assert [item.status for item in found] == [Status.WARN]


def test_what_has_no_namespace_is_nobody_elses() -> None:
    assert ownership.user_of(obj("Node", "n1"), facts()) == ""


def test_controllers_in_a_circle_end() -> None:
    first = deployment("team/a")
    first["metadata"] |= controlled("apps/v1", "Deployment", "b")
    second = deployment("team/b")
    second["metadata"] |= controlled("apps/v1", "Deployment", "a")
    assert ownership.user_of(first, facts(first, second)) == "namespace team"
