"""Gangs: PodGroups of kube-batch, minimums, and pods without requests."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.objects import Object
from tests.samples.manifests import findings, made, reasons, tfjob, vcjob

MARK = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}
BARE = {"spec": {"containers": [{"name": "c", "image": "example/image:v1"}]}}


def group(members: int = 2, api_version: str = "scheduling.volcano.sh/v1beta1") -> Object:
    return made(api_version, "PodGroup", "g", spec={"minMember": members})


def pod(name: str, template: Object = MARK) -> Object:
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "schedulerName": "volcano"}
    return made("v1", "Pod", name, metadata=template["metadata"], spec=spec)


@pytest.mark.parametrize("version", ["scheduling.incubator.k8s.io/v1alpha1", "scheduling.sigs.dev/v1alpha2"])
def test_podgroups_of_kube_batch_are_no_podgroups_of_volcano(version: str) -> None:
    assert reasons(group(2, version), pod("a"), pod("b")) == ["KubeBatchPodGroup"]
    assert reasons(group(), pod("a"), pod("b")) == []


def test_pods_for_kube_batch_have_no_scheduler() -> None:
    assert reasons(tfjob({"spec": {"schedulerName": "kube-batch"}})) == ["KubeBatchScheduler"]
    assert reasons(tfjob({"spec": {"schedulerName": "volcano"}})) == []


def test_a_podgroup_that_pods_name_must_exist() -> None:
    assert reasons(pod("a")) == ["PodGroupMissing"]
    of_another = pod("a")
    del of_another["spec"]["schedulerName"]
    assert [(item.reason, item.blocks) for item in findings(of_another)] == [("PodGroupMissing", False)]
    assert reasons(pod("a"), around=[group(1)]) == []
    assert reasons(pod("a"), group(1)) == []


def test_a_podgroup_beside_that_of_the_operator_stays_empty() -> None:
    found = findings(tfjob(MARK), group())
    assert [(item.reason, item.blocks) for item in found] == [("PodGroupByHand", False), ("NotEnoughPods", False)]


def test_a_podgroup_named_like_its_job_is_the_operators() -> None:
    own = made("scheduling.volcano.sh/v1beta1", "PodGroup", "mnist", spec={"minMember": 2})
    (found,) = findings(tfjob(), own)
    assert (found.reason, found.blocks) == ("PodGroupByHand", False)
    assert found.problem.todo.startswith("delete the PodGroup")
    elsewhere = made("scheduling.volcano.sh/v1beta1", "PodGroup", "mnist", "team-b", spec={"minMember": 2})
    there = made("v1", "Namespace", "team-b", namespace="")
    assert reasons(tfjob(), elsewhere, around=[there]) == ["NotEnoughPods"]
    assert reasons(vcjob(), own) == ["NotEnoughPods"], "Volcano names that of its Job with the UID"
    notebook = made("kubeflow.org/v1", "Notebook", "mnist", spec={})
    assert reasons(notebook, own) == ["KindNotServed", "NotEnoughPods"]


def test_a_minimum_is_reached_by_the_replicas_or_never() -> None:
    assert reasons(tfjob(workers=2, policy={"minAvailable": 3})) == ["MinMemberTooHigh"]
    assert reasons(tfjob(workers=2, policy={"minAvailable": 2})) == []
    assert reasons(vcjob(workers=2, minAvailable=3)) == ["MinMemberTooHigh"]
    assert reasons(vcjob(workers=2, minAvailable=2)) == []
    assert reasons(vcjob(workers=2, task={"minAvailable": 3})) == ["MinMemberTooHigh"]


def test_a_bare_podgroup_counts_the_pods_of_all_files() -> None:
    replicas = made("apps/v1", "Deployment", "d", spec={"replicas": 2, "template": {**MARK, "spec": pod("x")["spec"]}})
    assert reasons(group(3), replicas, pod("a")) == []
    (found,) = findings(group(4), replicas, pod("a"))
    assert (found.reason, found.blocks) == ("NotEnoughPods", False)
    for word in ("minMember is 4", "3 pods"):
        assert word in found.problem.found


def test_pods_of_a_gang_without_requests_are_not_held_back() -> None:
    (found,) = findings(vcjob(BARE))
    assert (found.reason, found.blocks) == ("RequestsMissing", True)
    assert found.problem.found.startswith("spec.tasks[0].template.spec.containers ")
    assert reasons(vcjob()) == []


def test_a_job_that_need_not_be_a_gang_is_only_told_of_requests() -> None:
    bare = {"spec": {"containers": [{"name": "tensorflow", "image": "example/image:v1"}]}}
    assert [item.blocks for item in findings(tfjob(bare))] == [False]
    assert [item.blocks for item in findings(tfjob(bare, policy={"queue": "default"}))] == [True]
    assert reasons(made("batch/v1", "Job", "j", spec={"template": BARE})) == []


def test_requests_of_whole_pods_are_read_by_later_versions_alone() -> None:
    whole = {"spec": {**BARE["spec"], "resources": {"requests": {"cpu": "1"}}}}
    (item,) = findings(vcjob(whole))
    assert (item.reason, item.blocks, "spec.resources" in item.problem.found) == ("RequestsMissing", False, True)


def test_a_limit_or_a_limit_range_sets_requests_too() -> None:
    limited = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    assert reasons(vcjob(limited)) == []
    defaults = made("v1", "LimitRange", "l", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]})
    assert reasons(vcjob(BARE), around=[defaults]) == []
    elsewhere = {**defaults, "metadata": {"name": "l", "namespace": "team-b"}}
    assert reasons(vcjob(BARE), around=[elsewhere]) == ["RequestsMissing"]


def test_a_job_without_replicas_runs_nothing() -> None:
    assert reasons(tfjob(workers=0)) == ["NoReplicas"]
    assert reasons(vcjob(workers=0)) == ["NoReplicas"]
    assert reasons(vcjob(workers=1)) == []


def test_an_mpijob_needs_a_launcher() -> None:
    worker = tfjob()["spec"]["tfReplicaSpecs"]["Worker"]
    job = {**tfjob(), "kind": "MPIJob", "spec": {"mpiReplicaSpecs": {"Worker": worker}}}
    assert reasons(job, offline=True) == ["LauncherMissing"]
    job["spec"]["mpiReplicaSpecs"]["Launcher"] = {**worker, "replicas": 1}
    assert reasons(job, offline=True) == []


def test_a_gang_of_tasks_in_order_counts_the_minimums_of_tasks_where_the_job_has_none() -> None:
    first = vcjob(workers=2)["spec"]["tasks"][0]
    later = first | {"name": "later", "dependsOn": {"name": ["worker"]}}
    assert reasons(vcjob(tasks=[first, later])) == ["GangWaitsForItself"]
    assert reasons(vcjob(tasks=[first, later | {"minAvailable": 1}])) == ["GangWaitsForItself"]
    assert reasons(vcjob(tasks=[first, later | {"minAvailable": 0}])) == []
    assert reasons(vcjob(tasks=[first | {"minAvailable": 1}, later | {"minAvailable": 1}])) == []


def native(minimum: int = 1) -> Object:
    return made(KUBERNETES.api_version, "PodGroup", "g", spec=KUBERNETES.group_spec(minimum))


def of_native(name: str, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "example/image:v1"}]
    return made("v1", "Pod", name, spec={"containers": containers, **KUBERNETES.marks("g")["spec"], **spec})


def test_a_podgroup_of_kubernetes_is_another_one_than_volcanos() -> None:
    assert reasons(of_native("a"), native()) == []
    assert reasons(of_native("a"), group(1)) == ["PodGroupMissing", "NotEnoughPods"]
    assert reasons(of_native("a"), native(2)) == ["NotEnoughPods"]
    assert reasons(of_native("a", schedulerName="volcano"), native())[0] == "OtherScheduler"
