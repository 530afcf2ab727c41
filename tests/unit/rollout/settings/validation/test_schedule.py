"""What the inventory may say about a validation on a schedule."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.settings import parse

IMAGE = "registry.example.org/kubeflow-volcano:1"
LOGIN = {"registry": "registry.example.org", "username": "robot", "password": "a password"}


def refused(**variables: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        parse(variables)
    return str(error.value)


@pytest.mark.parametrize("schedule", ["0 6 * * *", "*/30 8-18 * * MON-FRI", "@daily", ""])
def test_what_cron_reads_is_taken(schedule: str) -> None:
    assert parse({"validation_schedule": schedule, "validation_schedule_image": IMAGE}).scheduled.schedule == schedule


@pytest.mark.parametrize("schedule", ["daily", "0 6 * *", "0 6 * * * *", "every day at six o'clock"])
def test_what_cron_does_not_read_is_refused(schedule: str) -> None:
    assert "validation_schedule" in refused(validation_schedule=schedule, validation_schedule_image=IMAGE)


def test_a_schedule_needs_an_image_because_none_is_published() -> None:
    found = refused(validation_schedule="@daily")
    assert "validation_schedule without validation_schedule_image" in found
    assert "docs/monitoring.md" in found
    assert not parse({"validation_schedule_image": IMAGE}).scheduled.schedule


def test_probes_on_a_schedule_have_no_logins() -> None:
    schedule = {"validation_schedule": "@daily", "validation_schedule_image": IMAGE}
    logins = {"image_mirror_credentials": [LOGIN]}
    assert parse(schedule | logins).scheduled.image == IMAGE
    assert "image_mirror_credentials" in refused(**schedule, **logins, validation_schedule_probes=True)
