"""Experiments of Katib that its webhook refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.manifests import findings, made, reasons


def experiment(trial: Object | None = None, **spec: Any) -> Object:
    container = {"name": "main", "image": "a/b:1", "command": ["train", "--rate=${trialParameters.rate}"]}
    template = {
        "primaryContainerName": "main",
        "trialParameters": [{"name": "rate", "reference": "lr"}],
        "trialSpec": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
        **(trial or {}),
    }
    return made(
        "kubeflow.org/v1beta1",
        "Experiment",
        "e",
        spec={"parameters": [{"name": "lr"}], "trialTemplate": template, **spec},
    )


@pytest.mark.parametrize(
    "fine",
    [
        experiment(),
        experiment(parallelTrialCount=2, maxTrialCount=2),
        experiment({"trialParameters": [{"name": "rate", "reference": "${trialSpec.Name}"}]}),
        experiment({"trialSpec": "text"}),
        experiment({"primaryContainerName": "other"}, metricsCollectorSpec={"collector": {"kind": "None"}}),
        made("kubeflow.org/v1beta1", "Experiment", "e"),
        made("example.org/v1", "Experiment", "e", spec={"parallelTrialCount": 2, "maxTrialCount": 1}),
    ],
)
def test_experiments_that_katib_takes(fine: Object) -> None:
    assert reasons(fine, offline=True) == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (experiment(parallelTrialCount=3, maxTrialCount=2), "ExperimentInvalid"),
        (experiment({"trialParameters": []}), "ExperimentInvalid"),
        (
            experiment({"trialSpec": {"kind": "Job", "metadata": {"name": "rate ${trialParameters.rate}"}}}),
            "ExperimentInvalid",
        ),
        (experiment({"primaryContainerName": "mian"}), "PrimaryContainerMissing"),
        (experiment(parameters=[{"name": "momentum"}]), "ExperimentInvalid"),
    ],
)
def test_experiments_that_katib_refuses(wrong: Object, reason: str) -> None:
    assert reasons(wrong, offline=True) == [reason]


def test_a_parameter_that_differs_in_dashes_is_named() -> None:
    (found,) = findings(experiment(parameters=[{"name": "--lr"}]), offline=True)
    assert "--lr" in found.problem.found
