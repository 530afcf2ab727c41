"""How far objects of examples have come, by statuses as their controllers write them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.validators.probes.acceptance.states import State, state_of


def condition(type_: str, status: str = "True", message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": status, "message": message}]}


@pytest.mark.parametrize(
    ("kind", "status", "state"),
    [
        ("TFJob", {}, State.PENDING),
        ("TFJob", condition("Created"), State.PENDING),
        ("TFJob", condition("Running"), State.RUNNING),
        ("TFJob", condition("Running", "False"), State.PENDING),
        ("TFJob", condition("Succeeded"), State.COMPLETED),
        ("TFJob", condition("Failed"), State.FAILED),
        ("TrainJob", condition("Complete"), State.COMPLETED),
        ("TrainJob", condition("Suspended"), State.PENDING),
        ("Experiment", condition("Succeeded"), State.COMPLETED),
        ("InferenceService", condition("Ready"), State.RUNNING),
        ("InferenceService", condition("PredictorReady"), State.PENDING),
        ("Notebook", {"readyReplicas": 1}, State.RUNNING),
        ("Notebook", {"readyReplicas": 0, "conditions": [{"type": "Ready", "status": "True"}]}, State.PENDING),
        ("Tensorboard", {}, State.PENDING),
        ("Workflow", {"phase": "Running"}, State.RUNNING),
        ("Workflow", {"phase": "Succeeded"}, State.COMPLETED),
        ("Workflow", {"phase": "Error"}, State.FAILED),
        ("Job", {"state": {"phase": "Inqueue"}}, State.PENDING),
        ("Job", {"state": {"phase": "Running"}}, State.RUNNING),
        ("Job", {"state": {"phase": "Completed"}}, State.COMPLETED),
        ("Job", {"state": {"phase": "Aborted"}}, State.FAILED),
    ],
)
def test_a_status_says_how_far_an_object_is(kind: str, status: dict[str, Any], state: State) -> None:
    assert state_of({"kind": kind, "status": status})[0] is state


def test_the_furthest_of_several_conditions_counts_and_is_quoted() -> None:
    held = [
        {"type": "Running", "status": "True", "message": "runs"},
        {"type": "Failed", "status": "True", "message": "worker 0 exited with 1"},
    ]
    found = state_of({"kind": "PyTorchJob", "status": {"conditions": held}})
    assert found == (State.FAILED, "Failed: worker 0 exited with 1")


def test_a_workflow_is_quoted_with_its_message() -> None:
    status = {"phase": "Failed", "message": "step train: exit code 1"}
    assert state_of({"kind": "Workflow", "status": status})[1] == f"Failed: {status['message']}"
