"""Runtimes of Trainer 2, told who gangs."""

from __future__ import annotations

import copy
from typing import Any

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.rollout.gang.trainer import wire_runtimes


def runtime(*pods: dict[str, Any], kind: str = "ClusterTrainingRuntime", **spec: Any) -> dict[str, Any]:
    jobs = [{"name": str(number), "template": {"spec": {"template": {"spec": pod}}}} for number, pod in enumerate(pods)]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": {"name": "torch-distributed"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}, **spec},
    }


def pods(obj: dict[str, Any]) -> list[dict[str, Any]]:
    return [job["template"]["spec"]["template"]["spec"] for job in obj["spec"]["template"]["spec"]["replicatedJobs"]]


def test_every_pod_of_every_runtime_goes_to_volcano() -> None:
    objects = [runtime({"containers": []}, {"containers": []}), runtime({"containers": []}, kind="TrainingRuntime")]
    wire_runtimes(objects, VOLCANO)
    for obj in objects:
        assert obj["spec"]["podGroupPolicy"] == {"volcano": {}}
        assert obj["spec"]["mlPolicy"] == {"numNodes": 1}
        assert [pod["schedulerName"] for pod in pods(obj)] == ["volcano"] * len(pods(obj))
    again = copy.deepcopy(objects)
    wire_runtimes(again, VOLCANO)
    assert again == objects


def test_a_runtime_that_makes_pods_in_steps_is_left_to_the_default_scheduler() -> None:
    """Its gang would count pods that are made when its first ones have ended."""
    first: dict[str, Any] = {"containers": []}
    rest: dict[str, Any] = {"containers": []}
    steps = runtime(first, rest, podGroupPolicy={"volcano": {}})
    steps["spec"]["template"]["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "0", "status": "Complete"}]
    in_order = runtime(first, rest)
    in_order["spec"]["template"]["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    for obj in (steps, in_order):
        wire_runtimes([obj], VOLCANO)
        assert "podGroupPolicy" not in obj["spec"]
        assert pods(obj) == [{"containers": []}, {"containers": []}]


def test_one_plugin_only_and_its_own_settings_stay() -> None:
    topology = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    objects = [
        runtime({}, podGroupPolicy={"coscheduling": {"scheduleTimeoutSeconds": 60}}),
        runtime({}, podGroupPolicy={"volcano": topology}),
    ]
    wire_runtimes(objects, VOLCANO)
    assert [obj["spec"]["podGroupPolicy"] for obj in objects] == [{"volcano": {}}, {"volcano": topology}]


def test_the_plugin_and_the_name_are_those_of_the_scheduler() -> None:
    objects = [runtime({"schedulerName": "volcano"}, podGroupPolicy={"volcano": {}})]
    wire_runtimes(objects, SCHEDULER_PLUGINS)
    assert objects[0]["spec"]["podGroupPolicy"] == {"coscheduling": {}}
    assert [pod["schedulerName"] for pod in pods(objects[0])] == ["scheduler-plugins-scheduler"]


def test_other_kinds_stay_as_they_are() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}}
    objects = [copy.deepcopy(job)]
    wire_runtimes(objects, VOLCANO)
    assert objects == [job]
