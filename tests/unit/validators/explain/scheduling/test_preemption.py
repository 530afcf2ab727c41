"""Room that pods of lower priority hold."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Explanation
from tests.samples.jobs import explained, group, healthy, member, tfjob


def busy(priority: int, *around: Object, **rest: Any) -> Explanation:
    """The answer for a gang of priority 10 on nodes that others of that priority fill."""
    job, other = tfjob(), tfjob("other")
    pods = [member(job, n, spec={"priority": 10}) for n in range(2)]
    others = [member(other, n, on=f"n{n + 1}", cpu="4", spec={"priority": priority}) for n in range(2)]
    return explained(job, group(job, phase="Inqueue"), *pods, group(other, phase="Running", **rest), *others, *around)


def informed(answer: Explanation) -> list[tuple[str, bool]]:
    return [(item.reason, item.blocks) for item in answer.findings if item.reason == "LowerPriorityHolds"]


def test_lower_priority_that_stays_for_want_of_an_action_is_told() -> None:
    answer = busy(1)
    assert informed(answer) == [("LowerPriorityHolds", False)]
    found = next(item for item in answer.findings if item.reason == "LowerPriorityHolds")
    assert "the gang, of priority 10, would fit" in found.problem.found
    assert "preempt" in found.problem.todo


def test_equal_priority_another_queue_and_a_scheduler_that_preempts_are_not() -> None:
    assert informed(busy(10)) == []
    assert informed(busy(1, queue="elsewhere")) == []
    told = next(item for item in healthy() if item["kind"] == "ConfigMap")
    for action in ("preempt", "gangpreempt"):
        text = told["data"]["volcano-scheduler.conf"].replace("allocate,", f"allocate, {action},")
        assert informed(busy(1, told | {"data": {"volcano-scheduler.conf": text}})) == []
