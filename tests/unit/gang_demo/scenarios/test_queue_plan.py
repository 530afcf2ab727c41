"""What teams want through which queues, and what a record tells of who had how much."""

from __future__ import annotations

import re
from typing import Any

from kubeflow_volcano.gang_demo.scenarios.queue_plan import Plan, jobs_with_losses
from kubeflow_volcano.gang_demo.scenarios.queues import CASES
from tests.samples.histories import deleted, history, pod, seen

PLAN = Plan({"a": {"reclaimable": False}, "b": {}}, {"a": 2, "b": 1}, occupied=True)


def member(name: str, node: str = "x") -> Any:
    return pod(name, node=node, labels={"volcano.sh/job-name": name.rsplit("-", 2)[0]})


class TestPlan:
    """Manifests of a case."""

    def test_queues_come_before_jobs_and_team_a_before_team_b(self) -> None:
        made = [(item["kind"], item["metadata"]["name"]) for item in PLAN.manifest("p")]

        assert made[:2] == [("Queue", "p-a"), ("Queue", "p-b")]
        assert made[2:6] == [("Pod", f"other-{number}") for number in range(4)]
        assert made[6:] == [("Job", "a-1"), ("Job", "a-2"), ("Job", "b-1")]

    def test_each_team_uses_its_own_namespace_and_queue(self) -> None:
        jobs = [item for item in PLAN.manifest("p") if item["kind"] == "Job"]

        found = [(item["metadata"]["namespace"], item["spec"]["queue"]) for item in jobs]
        assert found == [("p-a", "p-a"), ("p-a", "p-a"), ("p-b", "p-b")]

    def test_without_queues_of_their_own_both_use_the_default(self) -> None:
        made = Plan({"a": None, "b": None}, {"a": 1, "b": 1}).manifest("p")

        assert [(item["kind"], item["spec"]["queue"]) for item in made] == [("Job", "default")] * 2

    def test_weights_and_what_a_queue_says(self) -> None:
        a, b = PLAN.shared("p")

        assert a["spec"] == {"weight": 3, "reclaimable": False}
        assert b["spec"] == {"weight": 1}

    def test_a_line_on_each_team(self) -> None:
        capped = Plan({"a": {"capability": {"nvidia.com/gpu": "4"}}, "b": None}, {"a": 1, "b": 1})

        assert capped.lines(history(member("a-1-worker-0"))) == (
            "team a: 1 GPUs (queue a, weight 3, capability nvidia.com/gpu=4)",
            "team b: 0 GPUs (queue default)",
        )


class TestShares:
    """Who had how many GPUs."""

    def test_by_the_jobs_of_the_team(self) -> None:
        names = ("a-1-worker-0", "a-2-worker-1", "b-1-worker-0")
        record = history(*(member(name) for name in names), pod("a-1-notebook", node="x"))

        assert PLAN.shares(record) == {"a": 2, "b": 1}

    def test_the_most_of_any_moment_counts(self) -> None:
        first = member("a-1-worker-0")
        record = seen(deleted(history(first, member("a-1-worker-1")), first), member("b-1-worker-0"))

        assert PLAN.most(record, "a") == 2
        assert PLAN.above(record, {"a": 2, "b": 1}) == ""
        assert re.match("team a .*2 GPUs.* 1$", PLAN.above(record, {"a": 1}))


class TestTouched:
    """Jobs that lost a pod."""

    def test_only_those(self) -> None:
        gone = member("a-1-worker-0")
        record = deleted(history(gone, member("a-2-worker-0")), gone)

        assert jobs_with_losses(record, ["a-1", "a-2"]) == ["a-1"]


def test_every_case_beside_its_control_differs_in_the_queue_alone() -> None:
    by_name = {case.name: [item for item in case.manifest("p") if item["kind"] == "Queue"] for case in CASES}
    kept, lent = by_name["queues-kept"][0]["spec"], by_name["queues-reclaim"][0]["spec"]

    assert kept == lent | {"reclaimable": False}
    assert by_name["queues-one"] == []
    assert by_name["queues-capability"][0]["spec"] == by_name["queues-uncapped"][0]["spec"] | {
        "capability": {"nvidia.com/gpu": "4"}
    }
