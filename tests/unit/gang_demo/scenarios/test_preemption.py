"""Manifests and judgements of the scenario of preemption."""

from __future__ import annotations

from typing import Any, cast

from kubeflow_volcano.gang_demo.play.stand import Stand
from kubeflow_volcano.gang_demo.scenarios.preemption import CASES, Displacement, Plan
from tests.samples.histories import deleted, history, later, pod


def low(number: int, node: str = "x") -> Any:
    return pod(f"low-worker-{number}", node=node, labels={"volcano.sh/job-name": "low"})


def course(record: Any) -> Displacement:
    return Displacement(stand=cast("Stand", None), history=record, plan=Plan(4), namespace="n")


def by_name(name: str) -> dict[str, Any]:
    (case,) = (case for case in CASES if case.name == name)
    return {item["metadata"]["name"]: item for item in case.manifest("n") if item["kind"] == "Job"}


class TestManifests:
    """What distinguishes a case from its control."""

    def test_the_urgent_job_has_a_class_of_higher_value(self) -> None:
        made = Plan(4).manifest("n")
        values = {item["metadata"]["name"]: item["value"] for item in made if item["kind"] == "PriorityClass"}
        jobs = {item["metadata"]["name"]: item["spec"]["priorityClassName"] for item in made if item["kind"] == "Job"}

        assert values[jobs["urgent"]] > values[jobs["low"]]

    def test_without_priorities_there_are_no_classes(self) -> None:
        made = Plan(4, priorities=False).manifest("n")

        assert [item["kind"] for item in made] == ["Job", "Job"]
        assert not any("priorityClassName" in item["spec"] for item in made)

    def test_the_remainder_is_a_matter_of_the_policy_alone(self) -> None:
        without, given = by_name("preemption-remainder"), by_name("preemption-no-remainder")

        assert given["low"]["spec"].pop("policies") == [{"event": "PodEvicted", "action": "RestartJob"}]
        assert without == given

    def test_what_does_not_fit_is_asked_of_both_schedulers(self) -> None:
        jobs = by_name("preemption-in-vain")["urgent"], by_name("preemption-fits-not")["urgent"]

        assert [item["spec"].pop("schedulerName") for item in jobs] == ["default-scheduler", "volcano"]
        assert jobs[0] == jobs[1]
        assert jobs[0]["spec"]["minAvailable"] == 6


class TestLeftAlone:
    """Whether anybody of the first gang was evicted."""

    def test_while_all_are_there(self) -> None:
        assert course(history(low(0), low(1))).left_alone() == ""

    def test_not_when_one_is_gone(self) -> None:
        gone = low(0)

        assert course(deleted(history(gone, low(1)), gone)).left_alone().startswith("1 pod ")


class TestTorn:
    """Whether a gang held GPUs in part for long."""

    def test_the_longest_time_is_told(self) -> None:
        judged = course(later(history(low(0)), 8))

        said = judged.partly_placed({"low": 4, "urgent": 4})
        assert said.startswith("low ")
        assert said.endswith("8.0 s")
        assert [*judged.figures.values()] == ["8.0 s"]

    def test_not_while_it_is_whole(self) -> None:
        assert course(history(*(low(number) for number in range(4)))).partly_placed({"low": 4, "urgent": 4}) == ""
