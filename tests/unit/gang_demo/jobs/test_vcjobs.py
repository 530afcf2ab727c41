"""Volcano's own jobs: their manifests."""

from __future__ import annotations

from kubeflow_volcano.gang_demo.jobs.jobs import RESTART
from kubeflow_volcano.gang_demo.jobs.vcjobs import Task, priority_class, queue, vcjob


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
