"""What the operators' webhooks are asked, and whose trouble an answer is held for."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.validators.checks.operator.common import operator_admission
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.subjects.gang.operators import OPERATORS
from tests.samples.facts import deployment, facts, ref

NAME = "kubeflow/training-operator"
KIND = next(job["kind"] for job in OPERATORS["training-operator"].dry_runs)
SILENCE = 'failed calling webhook "validator.tfjob": connection refused'


def asked(api: Any, *replies: Any, served: bool = True, seconds: float = 5.0) -> Any:
    resources = [{"kind": KIND, "name": "jobs", "namespaced": True}] if served else []
    api.on("GET", "/apis/kubeflow.org/v1", api.reply(body={"resources": resources}))
    api.on("POST", "/apis/kubeflow.org/v1/namespaces/default/jobs", *(replies or (api.reply(body={}),)))
    expected = Expectations(
        kubernetes=MinorRange("1.29", None), workloads={ref("Deployment", NAME): "training-operator"}
    )
    return operator_admission(
        api.connect(), facts(deployment(NAME), expected=expected, timing=Timing(dry_run_seconds=seconds))
    )


def test_a_job_that_is_taken_or_denied_was_answered(api: Any) -> None:
    denied = api.status(403, "Forbidden", 'admission webhook "validator.tfjob" denied the request: no')
    assert asked(api, api.reply(body={}), denied, api.status(422, "Invalid", "spec: Required")) == {KIND: ""}


def test_a_webhook_s_silence_is_its_trouble(api: Any) -> None:
    assert SILENCE in asked(api, api.status(500, "InternalError", SILENCE))[KIND]


@pytest.mark.parametrize("status", [429, 503])
def test_an_api_server_that_cannot_answer_is_no_webhook_s_trouble(api: Any, status: int) -> None:
    with pytest.raises(ApiError) as caught:
        asked(api, api.status(status, "Unavailable", "try again"), seconds=0.2)
    assert caught.value.status == status


def test_a_right_that_is_missing_is_not_held_for_an_answer(api: Any) -> None:
    with pytest.raises(ApiError, match="cannot create resource"):
        asked(api, api.status(403, "Forbidden", 'User "u" cannot create resource "jobs"'))


def test_a_kind_that_is_not_served_is_not_asked(api: Any) -> None:
    assert asked(api, served=False) == {}
