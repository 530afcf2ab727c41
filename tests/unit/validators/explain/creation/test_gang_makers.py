"""What makes the gang of kinds of other projects: named where they have none, and each gang for itself."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.validators.explain.kinds import foreign
from kubeflow_volcano.validators.explain.model import GROUP_NAME, Explanation, State
from tests.samples.facts import facts
from tests.samples.jobs import SPACE, event, explained, group, member, reasons

POD: Object = {"spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "i"}]}}
PLAIN: Object = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def made(api_version: str, kind: str, **spec: Any) -> Object:
    meta = {"uid": f"uid-{kind}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return new_object(api_version, kind, "train", SPACE, meta=meta, spec=spec)


def all_reasons(found: Explanation) -> list[str]:
    return [item.reason for item in found.findings]


def leaders(pod: Object = POD, groups: int = 2, size: int = 3) -> Object:
    shape = {"size": size, "workerTemplate": pod}
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", replicas=groups, leaderWorkerTemplate=shape)


def ascend(**spec: Any) -> Object:
    return made(
        "mindxdl.gitee.com/v1", "AscendJob", replicaSpecs={"Master": {"replicas": 2, "template": PLAIN}}, **spec
    )


def workers(pod: Object) -> Object:
    return {"mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": pod}}}


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (made("kubeflow.org/v2beta1", "MPIJob", **workers(POD)), "--gang-scheduling=volcano"),
        (leaders(), "schedulerProvider: volcano"),
        (made("ray.io/v1", "RayCluster", workerGroupSpecs=[{"replicas": 2, "template": POD}]), "--batch-scheduler="),
        (ascend(schedulerName="volcano"), "-enableGangScheduling=true"),
        (made("apps/v1", "StatefulSet", replicas=2, template=POD), "scheduling.volcano.sh/group-min-member"),
        (made("example.org/v1", "Thing", replicas=2, template=POD), "a PodGroup"),
    ],
)
def test_what_makes_the_gang_of_a_kind_is_named_where_there_is_none(obj: Object, words: str) -> None:
    found = next(item for item in explained(obj).findings if item.reason == "GangNotMade")
    assert not found.blocks
    assert words in found.problem.needed


def test_the_executors_of_a_spark_application_come_after_its_driver() -> None:
    app = made("sparkoperator.k8s.io/v1beta2", "SparkApplication", batchScheduler="volcano")
    assert "GangNotMade" not in all_reasons(explained(app, member(app, cpu="9")))
    found = explained(app, *(member(app, number, cpu="9", metadata={"annotations": {}}) for number in range(2)))
    told = next(item for item in found.findings if item.reason == "GangNotMade")
    assert "spec.batchScheduler: volcano" in told.problem.needed


@pytest.mark.parametrize("obj", [leaders(PLAIN), ascend(), made("apps/v1", "StatefulSet", replicas=1, template=POD)])
def test_nothing_is_said_of_what_asks_for_no_gang(obj: Object) -> None:
    assert "GangNotMade" not in all_reasons(explained(obj))


def test_a_gang_that_was_made_is_no_longer_missed() -> None:
    obj = made("kubeflow.org/v2beta1", "MPIJob", **workers(POD))
    assert "GangNotMade" not in all_reasons(explained(obj, group(obj)))


def test_the_pods_of_a_leaderworkerset_are_counted_by_group() -> None:
    read = foreign(leaders(), facts())
    assert {role.name: role.replicas for role in read.roles} == {"leader": 2, "worker": 4}
    assert [role.name for role in foreign(leaders(size=1), facts()).roles] == ["leader"]


def test_of_several_gangs_the_one_that_waits_is_explained() -> None:
    obj = leaders()
    gangs = []
    pods = []
    for index in range(2):
        gang = group(obj, 3)
        gang["metadata"] |= {"name": f"train-{index}", "uid": f"uid-{index}", "ownerReferences": []}
        gangs.append(gang)
        for number in range(3):
            pod = member(obj, 3 * index + number, cpu="1" if index == 0 else "9", on="" if index else "n1")
            pod["metadata"]["annotations"] = {GROUP_NAME: f"train-{index}"}
            pods.append(pod)
    found = explained(obj, *gangs, *pods, event(obj, "Told", "of the set"))
    assert (found.state, found.situation.group_ref.name if found.situation.group_ref else "") == (
        State.WAITING,
        "train-1",
    )
    assert len(found.situation.pods) == 3
    assert "NoNodeFitsNever" in reasons(found)
    assert [item.reason for item in found.situation.events] == ["Told"]


def named(pod: Object, name: str, **more: Any) -> Object:
    """The pod with Volcano's mark of that PodGroup."""
    spec = {**pod["spec"], "schedulerName": "volcano", **more}
    return pod | {"metadata": {**pod["metadata"], "annotations": {GROUP_NAME: name}}, "spec": spec}


def test_pods_of_a_podgroup_that_is_gone_wait_for_it() -> None:
    """KubeRay deletes the PodGroup of a RayJob that has ended, and its RayCluster makes further pods."""
    obj = made("ray.io/v1", "RayCluster", workerGroupSpecs=[{"replicas": 2, "template": POD}])
    found = explained(obj, *(named(member(obj, number), "ray-train-pg") for number in range(2)))
    assert reasons(found) == ["PodGroupMissing"]
    assert "GangNotMade" not in all_reasons(found)
    gang = group(obj)
    gang["metadata"] |= {"name": "ray-train-pg"}
    there = explained(obj, gang, *(named(member(obj, number), "ray-train-pg") for number in range(2)))
    assert "PodGroupMissing" not in all_reasons(there)


def test_a_kind_whose_controller_makes_nothing_is_not_blamed_on_schedulers() -> None:
    app = made("sparkoperator.k8s.io/v1beta2", "SparkApplication", batchScheduler="volcano")
    found = explained(app)
    assert reasons(found) == ["ControllerSilent"]
    assert "ControllerSilent" not in all_reasons(explained(app, member(app, cpu="9")))


def test_pods_beyond_the_minimum_that_have_no_node_are_told() -> None:
    """A driver that starts alone and waits for its executors: minMember of a SparkApplication is 1."""
    app = made("sparkoperator.k8s.io/v1beta2", "SparkApplication", batchScheduler="volcano")
    driver, executor = member(app, on="n1"), member(app, 1, cpu="9")
    found = explained(app, group(app, 1), driver, executor)
    assert (found.state, found.blocked) == (State.STARTED, False)
    assert all_reasons(found) == ["RestWaits"]
    assert not explained(app, group(app, 1), driver).findings


def test_a_pod_that_names_another_scheduler_is_not_taken_out_of_its_gang() -> None:
    """Volcano makes a PodGroup for each such pod, and marks the pod with it."""
    obj = made("ray.io/v1", "RayCluster", workerGroupSpecs=[{"replicas": 2, "template": PLAIN}])
    gang = group(obj)
    gang |= {"apiVersion": KUBERNETES.api_version, "spec": KUBERNETES.group_spec(2)}
    own = KUBERNETES.marks(gang["metadata"]["name"])["spec"]
    first, second = member(obj), named(member(obj, 1, on="n1"), "podgroup-1", **own)
    first = first | {"spec": {**first["spec"], "schedulerName": "default-scheduler", **own}}
    found = explained(obj, gang, first, second)
    assert len(found.situation.pods) == 2
    assert reasons(found) == ["OtherScheduler"]
