"""Jobs in the form that other gang schedulers than Volcano take, and which scenarios they are enough for."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, GangScheduler
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.catalogue import select_cases
from kubeflow_volcano.gang_demo.jobs.jobs import RESTART, holder, job, replicas
from kubeflow_volcano.gang_demo.jobs.native import as_native
from kubeflow_volcano.gang_demo.jobs.vcjobs import Task, vcjob
from kubeflow_volcano.gang_demo.play.history import JOB_NAME, ROLE, VCJOB_NAME, has_succeeded
from kubeflow_volcano.problems import InvalidInput
from tests.samples.histories import history, pod

ROLES = {"PS": replicas(2, gpus=0), "Worker": replicas(4)}
TRAINING = job("TFJob", "mnist", "n", ROLES)


def native(obj: Object, gang: GangScheduler = KUBERNETES, *, grouped: bool = True) -> tuple[list[Object], list[Object]]:
    """PodGroups, and the other objects."""
    made = [*as_native(obj, gang, grouped=grouped)]
    return [item for item in made if item["kind"] == "PodGroup"], [item for item in made if item["kind"] != "PodGroup"]


def test_a_training_job_is_a_group_and_a_job_for_each_role() -> None:
    (group,), jobs = native(TRAINING)
    assert (group["apiVersion"], KUBERNETES.minimum_of(group)) == (KUBERNETES.api_version, 6)
    assert {item["metadata"]["name"]: item["spec"]["parallelism"] for item in jobs} == {
        "mnist-ps": 2,
        "mnist-worker": 4,
    }
    pods = [item["spec"]["template"] for item in jobs]
    assert {KUBERNETES.named_by(item) for item in pods} == {"mnist"}
    assert {(item["metadata"]["labels"][JOB_NAME], item["metadata"]["labels"][ROLE]) for item in pods} == {
        ("mnist", "ps"),
        ("mnist", "worker"),
    }


def test_without_a_gang_there_are_the_same_pods() -> None:
    groups, jobs = native(TRAINING, grouped=False)
    assert groups == []
    assert [item["spec"]["parallelism"] for item in jobs] == [2, 4]
    assert not any(KUBERNETES.named_by(item["spec"]["template"]) for item in jobs)


def test_the_minimum_of_the_job_is_the_groups() -> None:
    elastic = job("PyTorchJob", "e", "n", {"Worker": replicas(4)})
    elastic["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 2}
    (group,), _ = native(elastic)
    assert KUBERNETES.minimum_of(group) == 2


def test_a_job_of_volcanos_keeps_its_priority_and_is_evicted_as_it_restarts() -> None:
    (group,), (made,) = native(vcjob("low", "n", Task("worker", 4), priority="p", policies=(RESTART,)))
    assert group["spec"] == KUBERNETES.group_spec(4) | {"priorityClassName": "p", "disruptionMode": {"all": {}}}
    assert made["spec"]["template"]["spec"]["priorityClassName"] == "p"
    assert made["spec"]["template"]["metadata"]["labels"][VCJOB_NAME] == "low"
    (single,), _ = native(vcjob("low", "n", Task("worker", 4)))
    assert "disruptionMode" not in single["spec"]
    assert native(vcjob("low", "n", Task("worker", 4), scheduler="default-scheduler"))[0] == []


def test_a_job_of_volcanos_is_one_of_scheduler_plugins_without_what_its_groups_cannot_say() -> None:
    obj = vcjob("low", "n", Task("worker", 4), priority="p", policies=(RESTART,))
    (group,), (made,) = native(obj, SCHEDULER_PLUGINS)
    assert (group["apiVersion"], group["spec"]) == (SCHEDULER_PLUGINS.api_version, {"minMember": 4})
    pod = made["spec"]["template"]
    assert (SCHEDULER_PLUGINS.named_by(pod), pod["spec"]["schedulerName"]) == ("low", SCHEDULER_PLUGINS.scheduler)
    assert (pod["metadata"]["labels"][VCJOB_NAME], pod["spec"]["priorityClassName"]) == ("low", "p")
    groups, (alone,) = native(vcjob("low", "n", Task("w", 4), scheduler="default-scheduler"), SCHEDULER_PLUGINS)
    assert groups == []
    assert "schedulerName" not in alone["spec"]["template"]["spec"]


def test_training_jobs_are_the_operators_where_it_makes_groups() -> None:
    assert native(TRAINING, SCHEDULER_PLUGINS) == ([], [TRAINING])


def test_other_objects_stay_as_they_are() -> None:
    other = holder("notebook", "n", 1)
    assert native(other) == ([], [other])


@pytest.mark.parametrize(
    ("gang", "more", "refused", "why"),
    [
        (KUBERNETES, set(), ("queues", "pipelines"), "operators make"),
        (SCHEDULER_PLUGINS, {"job-kinds", "pipelines"}, ("queues", "binpack"), "Volcano's own"),
    ],
)
def test_scenarios_of_what_another_scheduler_has_not_are_refused(
    gang: GangScheduler, more: set[str], refused: tuple[str, ...], why: str
) -> None:
    every = {case.scenario for case in select_cases([], gang.name)}
    assert every == {"source", "two-jobs", "preemption", "elastic"} | more
    for name in every:
        assert {case.control for case in select_cases([name], gang.name)} == {True, False}
    with pytest.raises(InvalidInput, match=f"no part for {', '.join(refused)}: .*{why}"):
        select_cases(["source", *refused], gang.name)


def test_pods_of_kubernetes_gangs_are_the_default_schedulers() -> None:
    seen = history(pod("e-worker-0", job="e"))
    assert seen.gang.scheduler == "volcano"
    assert has_succeeded([{"status": {"conditions": [{"type": "Complete", "status": "True"}]}}])
    assert not has_succeeded([])
