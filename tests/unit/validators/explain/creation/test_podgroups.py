"""Who makes pods and PodGroups of a job."""

from __future__ import annotations

import re

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import State
from tests.samples.facts import instant
from tests.samples.jobs import explained, group, healthy, member, reasons, tfjob, vcjob


def without_flag(arguments: list[str], image: str = "kubeflow/training-operator:v1-04f9f13") -> Object:
    """The training operator with other arguments."""
    found = next(item for item in healthy() if item["metadata"]["name"] == "training-operator")
    found["spec"]["template"]["spec"]["containers"][0] |= {"args": arguments, "image": image}
    return found


def scaled_to_zero(name: str) -> Object:
    found = next(item for item in healthy() if item["metadata"]["name"] == name)
    found["spec"]["replicas"] = 0
    found["status"] = {"observedGeneration": 1}
    return found


def test_nothing_is_in_the_way_of_a_gang_that_runs() -> None:
    job = tfjob()
    answer = explained(job, group(job, phase="Running"), member(job, 0, on="n1"), member(job, 1, on="n2"))
    assert answer.state is State.STARTED
    assert answer.findings == ()
    assert not answer.blocked


def test_an_operator_that_is_absent_or_down_makes_no_pods() -> None:
    job = tfjob()
    absent = explained(job, without=["training-operator"])
    assert reasons(absent) == ["ControllerMissing"]
    assert "0 of 2 pods" in absent.findings[0].problem.found
    down = explained(job, group(job), scaled_to_zero("training-operator"))
    assert reasons(down) == ["ControllerDown"]
    assert "scaled to 0" in down.findings[0].problem.found


def test_a_controller_that_is_down_is_no_matter_once_all_pods_are_there() -> None:
    job = tfjob()
    pods = [member(job, 0, on="n1"), member(job, 1, on="n2")]
    answer = explained(job, group(job, phase="Running"), *pods, scaled_to_zero("training-operator"))
    assert answer.findings == ()


def test_controllers_that_leave_jobs_out_are_named() -> None:
    off = next(item for item in healthy() if item["metadata"]["name"] == "volcano-controllers")
    container = {"name": "c", "image": "vc-controller-manager", "args": ["--controllers=*,-job-controller"]}
    off = {**off, "spec": {**off["spec"], "template": {"spec": {"containers": [container]}}}}
    assert reasons(explained(vcjob(), off)) == ["ControllerOff"]


def test_volcano_s_own_jobs_have_volcano_s_controllers() -> None:
    job = vcjob()
    assert reasons(explained(job, group(job), without=["volcano-controllers"])) == ["ControllerMissing"]
    assert reasons(explained(job)) == ["PodGroupMissing"]


@pytest.mark.parametrize(
    ("arguments", "image", "reason"),
    [
        ([], "kubeflow/training-operator:v1-04f9f13", "GangOff"),
        (["--gang-scheduler-name=volcano"], "kubeflow/training-operator:v1-e1434f6", "GangOff"),
        (["--gang-scheduler-name=kube-batch"], "kubeflow/training-operator:v1-04f9f13", "GangOther"),
    ],
)
def test_an_operator_that_does_not_gang_is_told_and_keeps_nobody(arguments: list[str], image: str, reason: str) -> None:
    job = tfjob()
    pods = [member(job, 0, on="n1"), member(job, 1, on="n2")]
    answer = explained(job, *pods, without_flag(arguments, image))
    assert [item.reason for item in answer.findings] == [reason]
    assert not answer.blocked


def test_an_operator_with_a_flag_of_another_era_ends_at_its_start() -> None:
    answer = explained(tfjob(), without_flag(["--enable-gang-scheduling=true", "--gang-scheduler-name=volcano"]))
    assert reasons(answer) == ["UnknownFlag"]


def test_a_missing_podgroup_is_the_operator_s_only_when_it_gangs() -> None:
    assert reasons(explained(tfjob())) == ["PodGroupMissing"]


def test_a_podgroup_of_that_name_may_be_another_job_s_and_serves_both() -> None:
    other, job = vcjob(), tfjob()
    pods = [member(job, number, on=f"n{number + 1}") for number in range(2)]
    answer = explained(job, group(other, phase="Running"), *pods)
    assert [(item.reason, item.blocks) for item in answer.findings] == [("PodGroupTaken", False)]
    assert "Job mnist" in answer.findings[0].problem.found


def test_a_podgroup_that_is_asked_about_is_its_owner_s() -> None:
    job = tfjob()
    pods = [member(job, number, on=f"n{number + 1}") for number in range(2)]
    assert explained(group(job, phase="Running"), *pods).findings == ()


def test_without_volcano_s_crds_there_is_no_gang() -> None:
    assert reasons(explained(tfjob(), served=())) == ["PodGroupNotServed"]


def test_a_gang_larger_than_the_job_never_becomes_whole() -> None:
    job = tfjob(runPolicy={"schedulingPolicy": {"minAvailable": 3}})
    answer = explained(job, group(job, 3, phase="Inqueue"), member(job, 0), member(job, 1))
    assert reasons(answer)[0] == "MinMemberTooHigh"
    assert re.findall(r"\d", answer.findings[0].problem.found) == ["3", "2"]


def test_a_podgroup_without_enough_pods_is_told_how_many_name_it() -> None:
    job = tfjob()
    bare = group(job)
    del bare["metadata"]["ownerReferences"]
    answer = explained(bare, member(job, 0))
    assert reasons(answer) == ["NotEnoughPods"]
    assert re.findall(r"\d", answer.findings[0].problem.found)[:2] == ["2", "1"]


def test_an_old_operator_sleeps_through_the_admission_of_a_podgroup() -> None:
    job = tfjob()
    old = without_flag(["--enable-gang-scheduling=true"], "kubeflow/training-operator:v1-e1434f6")
    answer = explained(job, group(job, phase="Inqueue"), old)
    assert reasons(answer) == ["OperatorAsleep"]
    assert "annotate" in answer.findings[0].changes[0]
    assert "OperatorAsleep" not in reasons(explained(job, group(job, phase="Inqueue")))


def test_a_podgroup_that_an_earlier_job_of_that_name_left_behind_is_used_and_not_to_be_deleted() -> None:
    """As on a cluster: operator 1.8.1 takes it, and the job runs with it."""
    job, left = tfjob(), group(tfjob(), phase="Running")
    left["metadata"]["ownerReferences"][0]["uid"] = "of-the-earlier-one"
    answer = explained(job, left, *(member(job, number, on=f"n{number + 1}") for number in range(2)))
    assert answer.findings == ()


def test_what_a_controller_that_is_down_has_not_made_is_not_told_beside_it() -> None:
    assert reasons(explained(tfjob(), scaled_to_zero("training-operator"))) == ["ControllerDown"]


def test_a_podgroup_of_volcano_s_own_holds_nobody_back() -> None:
    """Volcano makes one for pods that are its own and name none; the operator's flag is why."""
    job = tfjob()
    single = group(job, 1, phase="Running")
    single["metadata"]["name"] = "podgroup-uid-TFJob-mnist"
    answer = explained(job, single, member(job, 0, on="n1"), member(job, 1), without_flag([]))
    told = [(item.reason, item.blocks) for item in answer.findings]
    assert ("GangOff", False) in told
    assert "team-a/podgroup-uid-TFJob-mnist" in answer.findings[0].problem.found


def test_without_volcano_s_crds_an_operator_that_does_not_gang_waits_for_nothing_of_them() -> None:
    assert "PodGroupNotServed" not in reasons(explained(tfjob(), without_flag([]), served=()))


def test_a_gang_that_counts_pods_which_are_made_only_when_it_runs_waits_for_itself() -> None:
    job = vcjob(workers=1)
    pod = job["spec"]["tasks"][0]["template"]
    job["spec"]["tasks"].append({"name": "ps", "replicas": 2, "template": pod, "dependsOn": {"name": ["worker"]}})
    answer = explained(job, group(job, 3, phase="Inqueue"), member(job, 0))
    assert reasons(answer)[0] == "GangWaitsForItself"
    found = answer.findings[0].problem.found
    assert "of ps " in found
    assert re.findall(r"\d", found)[-1] == "1", "pods that are there at the start"
    assert "GangWaitsForItself" not in reasons(explained(job, group(job, 1, phase="Inqueue"), member(job, 0)))


def test_a_podgroup_that_nobody_looks_at_is_the_scheduler_s() -> None:
    job = tfjob()
    answer = explained(job, group(job, phase=""))
    assert reasons(answer) == ["SchedulerSilent"]
    assert "60 s" in answer.findings[0].problem.found


@pytest.mark.parametrize("scheduler", ["default-scheduler", "volcano"])
def test_without_volcano_s_crds_a_job_for_another_scheduler_lacks_no_podgroup(scheduler: str) -> None:
    pod = {"containers": [{"name": "c", "resources": {}}], "schedulerName": scheduler}
    meta = {"name": "mnist", "namespace": "team-a", "uid": "uid-job", "creationTimestamp": instant(60)}
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": {"template": {"spec": pod}}}
    found = reasons(explained(job, served=()))
    assert ("PodGroupNotServed" in found) == (scheduler == "volcano")
