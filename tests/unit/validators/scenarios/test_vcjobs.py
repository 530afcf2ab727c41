"""Volcano's own jobs: their manifests, and what a record tells of them."""

from __future__ import annotations

from typing import Any

import pytest

from validators.scenarios import vcjobs
from validators.scenarios.history import History
from validators.scenarios.testing import deleted, history, pod, seen
from validators.scenarios.vcjobs import RESTART, Task, priority_class, queue, vcjob


def member(name: str, **more: Any) -> Any:
    return pod(name, labels={"volcano.sh/job-name": name.rsplit("-", 2)[0], "volcano.sh/task-spec": "worker"}, **more)


class TestManifest:
    """What a person would write."""

    def test_all_pods_start_together_unless_said_otherwise(self) -> None:
        tasks = Task("ps", 2, gpus=0), Task("worker", 4)

        assert vcjob("j", "n", *tasks)["spec"]["minAvailable"] == 6
        assert vcjob("j", "n", *tasks, minimum=1)["spec"]["minAvailable"] == 1

    def test_a_priority_stands_on_the_job_and_on_its_pods(self) -> None:
        spec = vcjob("j", "n", Task("worker", 1), priority="urgent")["spec"]

        assert spec["priorityClassName"] == "urgent"
        assert spec["tasks"][0]["template"]["spec"]["priorityClassName"] == "urgent"

    def test_without_a_priority_there_is_none(self) -> None:
        spec = vcjob("j", "n", Task("worker", 1))["spec"]

        assert "priorityClassName" not in spec
        assert "priorityClassName" not in spec["tasks"][0]["template"]["spec"]

    def test_gpus_are_asked_for_by_those_tasks_that_need_them(self) -> None:
        ps, worker = vcjob("j", "n", Task("ps", 2, gpus=0), Task("worker", 4))["spec"]["tasks"]

        assert ps["template"]["spec"]["containers"][0]["resources"]["limits"] == {}
        assert worker["template"]["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}

    def test_policies_stand_where_they_belong(self) -> None:
        done = {"event": "TaskCompleted", "action": "CompleteJob"}
        spec = vcjob("j", "n", Task("worker", 1, policies=(done,)), policies=(RESTART,), queue="q")["spec"]

        assert spec["policies"] == [{"event": "PodEvicted", "action": "RestartJob"}]
        assert spec["tasks"][0]["policies"] == [done]
        assert spec["queue"] == "q"

    def test_queues_and_classes(self) -> None:
        assert queue("q", 3, reclaimable=False)["spec"] == {"weight": 3, "reclaimable": False}
        assert priority_class("c", 5)["value"] == 5


class TestHeld:
    """Pods of a job that hold a node, by the beginning of their names."""

    def test_counts_only_those_with_a_node(self) -> None:
        record = history(
            member("low-worker-0", node="gpu-1"), member("low-worker-1"), member("lower-worker-0", node="x")
        )

        assert vcjobs.held(record, "low") == 1

    def test_not_those_that_ended(self) -> None:
        record = history(member("low-worker-0", node="gpu-1", phase="Succeeded"))

        assert vcjobs.held(record, "low") == 0


class TestRunning:
    """Whether all pods of a job run."""

    def test_needs_every_one(self) -> None:
        one, two = member("low-worker-0", node="gpu-1"), member("low-worker-1", node="gpu-2")

        assert vcjobs.running(history(one, two), "low", 2)
        assert not vcjobs.running(history(one), "low", 2)
        assert not vcjobs.running(history(one, member("low-worker-1")), "low", 2)

    def test_those_that_are_gone_do_not_count(self) -> None:
        one = member("low-worker-0", node="gpu-1")
        record = deleted(history(one), one)

        assert not vcjobs.running(record, "low", 1)


class TestWaiting:
    """Whether a gang waits as a whole."""

    FIRST, SECOND = member("low-worker-0", judged=True), member("low-worker-1", judged=True)

    def test_when_everybody_was_judged_and_nobody_has_a_node(self) -> None:
        assert vcjobs.waiting(history(self.FIRST, self.SECOND), "low", 2)

    def test_not_before_the_scheduler_has_looked_at_all(self) -> None:
        assert not vcjobs.waiting(history(self.FIRST, member("low-worker-1")), "low", 2)

    def test_not_before_all_are_there(self) -> None:
        assert not vcjobs.waiting(history(self.FIRST), "low", 2)

    def test_not_when_one_has_a_node(self) -> None:
        assert not vcjobs.waiting(history(self.FIRST, member("low-worker-1", judged=True, node="x")), "low", 2)


class TestInPart:
    """How long a gang was there in part, by a clock that the test turns."""

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [100.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        return now

    def play(self, clock: list[float], *steps: tuple[float, Any]) -> History:
        record = history()
        for at, item in steps:
            clock[0] = at
            seen(record, item)
        return record

    def test_from_the_first_pod_to_the_last(self, clock: list[float]) -> None:
        record = self.play(clock, (101.0, member("low-worker-0", node="x")), (103.5, member("low-worker-1", node="y")))
        clock[0] = 200.0

        assert vcjobs.in_part(record, "low", 2) == 2.5

    def test_several_states_in_part_count_as_one_time(self, clock: list[float]) -> None:
        steps = ((101.0 + number, member(f"low-worker-{number}", node="x")) for number in range(3))

        assert vcjobs.in_part(self.play(clock, *steps), "low", 3) == 2.0

    def test_what_lasts_counts_until_now(self, clock: list[float]) -> None:
        record = self.play(clock, (101.0, member("low-worker-0", node="x")))
        clock[0] = 109.0

        assert vcjobs.in_part(record, "low", 2) == 8.0

    def test_a_whole_gang_was_never_in_part(self, clock: list[float]) -> None:
        record = self.play(clock, (101.0, member("low-worker-0", node="x")))
        clock[0] = 109.0

        assert vcjobs.in_part(record, "low", 1) == 0.0
