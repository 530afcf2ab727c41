"""F10 on literal facts."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.validators.checks.volcano.team_queues import team_queues
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import obj, with_volcano

TEAM = obj("Namespace", "vision", metadata={"annotations": {QUEUE_NAME: "vision"}})
GROUP = Ref("scheduling.volcano.sh/v1beta1", "PodGroup", "vision", "job")


def group(namespace: str, **spec: str) -> Any:
    return obj("PodGroup", f"{namespace}/job", spec=spec)


@pytest.mark.parametrize(
    ("group_", "status", "reason", "objects"),
    [
        (group("vision", queue="default"), Status.WARN, "InDefault", (GROUP,)),
        (group("vision"), Status.WARN, "InDefault", (GROUP,)),
        (group("vision", queue="vision"), Status.PASS, "AsClaimed", (GROUP,)),
        (group("vision", queue="chosen"), Status.PASS, "AsClaimed", (GROUP,)),
        (group("plain", queue="default"), Status.SKIP, "NoTeamJobs", ()),
    ],
)
def test_only_jobs_of_a_team_that_are_in_queue_default_are_named(
    group_: Any, status: Status, reason: str, objects: Any
) -> None:
    outcome = team_queues(with_volcano(TEAM, obj("Namespace", "plain"), group_))
    assert (outcome.status, outcome.reason or "", tuple(outcome.objects)) == (status, reason, objects)


def test_a_team_whose_queue_is_default_has_none_to_be_in() -> None:
    team = obj("Namespace", "vision", metadata={"annotations": {QUEUE_NAME: "default"}})
    assert team_queues(with_volcano(team, group("vision"))).reason == "NoTeamJobs"
