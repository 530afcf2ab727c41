"""Every kind of job says what it wants in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.kinds import KINDS
from kubeflow_volcano.validators.explain.model import Job
from tests.samples.facts import NOW, instant

CONTAINER = {"containers": [{"name": "c"}]}


def made(kind: str, spec: Object, *around: tuple[str, Object], **meta: Any) -> Job:
    full = {"name": "j", "namespace": "n", "uid": "u", "creationTimestamp": instant(60), **meta}
    obj = {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": full, "spec": spec}
    objects: dict[str, tuple[Object, ...]] = {}
    for resource, item in around:
        objects[resource] = (*objects.get(resource, ()), item)
    return KINDS[kind].read(obj, Facts(Expectations(), NOW, objects=objects))


@pytest.mark.parametrize(
    ("kind", "field", "roles"),
    [
        ("TFJob", "tfReplicaSpecs", {"PS": 2, "Worker": 4}),
        ("PyTorchJob", "pytorchReplicaSpecs", {"Master": 1, "Worker": 3}),
        ("MPIJob", "mpiReplicaSpecs", {"Launcher": 1, "Worker": 2}),
        ("XGBoostJob", "xgbReplicaSpecs", {"Master": 1, "Worker": 2}),
        ("PaddleJob", "paddleReplicaSpecs", {"Worker": 2}),
        ("MXJob", "mxReplicaSpecs", {"Scheduler": 1, "Server": 1, "Worker": 1}),
        ("JAXJob", "jaxReplicaSpecs", {"Worker": 2}),
    ],
)
def test_the_roles_of_kubeflow_s_jobs(kind: str, field: str, roles: dict[str, int]) -> None:
    replicas = {name: {"replicas": count, "template": {"spec": CONTAINER}} for name, count in roles.items()}
    policy = {"schedulingPolicy": {"minAvailable": 2, "queue": "q", "priorityClass": "high"}, "suspend": True}
    job = made(kind, {field: replicas, "runPolicy": policy})
    assert {role.name: role.replicas for role in job.roles} == roles
    assert job.wanted == sum(roles.values())
    assert (job.min_available, job.queue, job.priority_class, job.suspended) == (2, "q", "high", True)
    assert job.groups == ("j",)


def test_replicas_that_are_not_given_are_one_and_none_are_none() -> None:
    specs = {"Master": {"template": {"spec": CONTAINER}}, "Worker": {"replicas": 0, "template": {"spec": CONTAINER}}}
    assert made("PyTorchJob", {"pytorchReplicaSpecs": specs}).wanted == 1


def test_a_volcano_job_hands_its_pods_to_its_scheduler() -> None:
    tasks = [{"name": "ps", "replicas": 1, "template": {"spec": CONTAINER}}, {"name": "worker", "replicas": 2}]
    job = made("Job", {"minAvailable": 3, "queue": "q", "tasks": tasks, "schedulerName": "mine"})
    assert [(role.name, role.replicas) for role in job.roles] == [("ps", 1), ("worker", 2)]
    assert job.roles[0].template["spec"]["schedulerName"] == "mine"
    assert job.groups == ("j-u", "j")


def runtime(name: str = "torch", **meta: Any) -> tuple[str, Object]:
    replicated = [{"name": "node", "template": {"spec": {"parallelism": 1, "template": {"spec": CONTAINER}}}}]
    spec = {"podGroupPolicy": {"volcano": {}}, "template": {"metadata": meta, "spec": {"replicatedJobs": replicated}}}
    return "clustertrainingruntimes.trainer.kubeflow.org", {"metadata": {"name": name}, "spec": spec}


def test_a_train_job_is_what_its_runtime_and_its_own_numbers_say() -> None:
    queue = runtime(annotations={"scheduling.volcano.sh/queue-name": "of-runtime"})
    spec = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}}
    job = made("TrainJob", spec, queue)
    assert [(role.name, role.replicas) for role in job.roles] == [("node", 3)]
    assert job.queue == "of-runtime"
    named = {"scheduling.volcano.sh/queue-name": "own"}
    assert made("TrainJob", spec | {"annotations": named}, queue).queue == "own"
    patch = {"manager": "me", "trainingRuntimeSpec": {"template": {"metadata": {"annotations": named}}}}
    assert made("TrainJob", spec | {"runtimePatches": [patch]}, queue).queue == "own"
    # Trainer reads its spec; what its metadata say goes no further.
    assert made("TrainJob", spec, queue, annotations=named).queue == "of-runtime"


def test_the_jobset_of_a_train_job_counts_before_the_runtime() -> None:
    replicated = [
        {"name": "node", "replicas": 1, "template": {"spec": {"parallelism": 5, "template": {"spec": CONTAINER}}}}
    ]
    jobset = {"metadata": {"name": "j", "namespace": "n"}, "spec": {"replicatedJobs": replicated}}
    spec = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}}
    job = made("TrainJob", spec, runtime(), ("jobsets.jobset.x-k8s.io", jobset))
    assert job.wanted == 5


def test_a_train_job_without_its_runtime_has_no_roles() -> None:
    assert made("TrainJob", {"runtimeRef": {"name": "gone"}}).roles == ()


def test_a_podgroup_is_its_own_job() -> None:
    job = made("PodGroup", {"minMember": 4, "queue": "q"})
    assert (job.min_available, job.queue, job.roles) == (4, "q", ())
