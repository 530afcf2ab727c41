"""InferenceServices and elastic jobs whose parts contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples.manifests import made, reasons


@pytest.mark.parametrize(
    ("predictor", "wrong"),
    [
        ({"model": {}}, 0),
        ({"model": {}, "containers": []}, 0),
        ({"containers": [{"name": "a"}]}, 0),
        ({"model": {}, "workerSpec": {}}, 0),
        ({"sklearn": {}, "pytorch": {}}, 1),
        ({"minReplicas": 1}, 1),
    ],
)
def test_a_predictor_has_one_model_server(predictor: Any, wrong: int) -> None:
    service = made("serving.kserve.io/v1beta1", "InferenceService", "m", spec={"predictor": predictor})
    assert reasons(service, offline=True) == ["PredictorInvalid"] * wrong


@pytest.mark.parametrize(("role", "wrong"), [("Worker", 0), ("Master", 1)])
def test_an_elastic_job_has_workers(role: str, wrong: int) -> None:
    roles = {role: {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a/b:1"}]}}}}
    job = made(
        "kubeflow.org/v1", "PyTorchJob", "p", spec={"elasticPolicy": {"minReplicas": 1}, "pytorchReplicaSpecs": roles}
    )
    assert reasons(job, offline=True).count("ElasticWithoutWorkers") == wrong
