"""Jobs whose gangs scheduler-plugins make: their PodGroups are known, and nothing of Volcano's is held against them."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.rendering import document
from tests.samples.facts import deployment, instant
from tests.samples.jobs import explained, member, reasons, tfjob

LABEL = SCHEDULER_PLUGINS.mark[-1]
WITHOUT_VOLCANO = ("volcano-scheduler", "volcano-controllers", "volcano-scheduler-configmap", "default")


def operator(argument: str = f"--gang-scheduler-name={SCHEDULER_PLUGINS.scheduler}") -> Object:
    container = {
        "name": "training-operator",
        "image": "kubeflow/training-operator:v1-04f9f13",
        "args": [argument] if argument else [],
    }
    return deployment("kubeflow/training-operator", containers=[container])


def group(minimum: int, owner: Object | None = None, name: str = "mnist") -> Object:
    meta: Object = {"name": name, "namespace": "team-a", "uid": f"uid-{name}", "creationTimestamp": instant(60)}
    if owner:
        meta |= {"ownerReferences": [{"kind": owner["kind"], "name": name, "uid": owner["metadata"]["uid"]}]}
    kind = {"apiVersion": SCHEDULER_PLUGINS.api_version, "kind": "PodGroup"}
    return {**kind, "metadata": meta, "spec": {"minMember": minimum}, "status": {"phase": "Pending"}}


def of_group(pod: Object, scheduler: str = SCHEDULER_PLUGINS.scheduler) -> Object:
    """The pod as a member of the group mnist that the scheduler has judged."""
    meta = {**pod["metadata"], "annotations": {}, "labels": {LABEL: "mnist"}}
    status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}
    return {**pod, "metadata": meta, "spec": {**pod["spec"], "schedulerName": scheduler}, "status": status}


def told(*objects: Object, job: Object) -> list[str]:
    return reasons(explained(job, operator(), *objects, without=WITHOUT_VOLCANO))


def test_a_job_of_theirs_lacks_nothing_of_volcanos() -> None:
    job = tfjob()
    pods = [of_group(member(job, i)) for i in range(2)]
    found = explained(job, operator(), group(2, job), *pods, without=WITHOUT_VOLCANO)
    assert reasons(found) == ["Unexplained"]
    assert "scheduler-plugins-scheduler runs" in found.findings[-1].problem.found
    silent = [{**pod, "status": {"phase": "Pending"}} for pod in pods]
    assert told(group(2, job), *silent, job=job) == ["SchedulerSilent"]
    gang = document(found)["gang"]
    assert (gang["pod_group"], gang["phase"], gang["min_member"], gang["queue"]) == ("mnist", "Pending", 2, "")


def test_a_gang_that_has_no_room_is_told_the_same_as_volcanos() -> None:
    job = tfjob(workers=3, cpu="3")
    pods = [of_group(member(job, i, cpu="3")) for i in range(3)]
    assert told(group(3, job), *pods, job=job) == ["GangNeverFits"]


def test_a_job_whose_operator_makes_their_groups_has_none() -> None:
    assert told(job=tfjob()) == ["PodGroupMissing"]


@pytest.mark.parametrize("argument", ["", "--gang-scheduler-name=volcano"])
def test_without_their_group_and_their_name_a_job_is_not_theirs(argument: str) -> None:
    found = explained(tfjob(), operator(argument))
    assert all(SCHEDULER_PLUGINS.group not in item.problem.found for item in found.findings)


def test_a_group_that_cannot_be_whole_is_told() -> None:
    job = tfjob()
    assert "MinMemberTooHigh" in told(group(3, job), job=job)
    assert told(job=group(2)) == ["NotEnoughPods"]


def test_pods_of_another_scheduler_are_told_of() -> None:
    job = tfjob()
    pods = [of_group(member(job, i), "volcano") for i in range(2)]
    found = explained(job, operator(), group(2, job), *pods, without=WITHOUT_VOLCANO)
    assert "OtherScheduler" in [item.reason for item in found.findings]
