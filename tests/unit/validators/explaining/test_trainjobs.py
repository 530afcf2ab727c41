"""TrainJobs: what their runtime wires, and what Trainer makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from validators.explaining.model import Explanation
from validators.explaining.testing import SPACE, explained, group, healthy, member, reasons
from validators.testing import instant

ACCESS = {
    "trainer": {"create podgroups.scheduling.volcano.sh": True, "create jobsets.jobset.x-k8s.io": True},
    "jobset": {"create jobs.batch": True},
}


def made(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    meta = {"name": name, "uid": f"uid-{kind}-{name}", "creationTimestamp": instant(60), **rest.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def trainjob(nodes: int = 2) -> Object:
    spec = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": nodes}}
    return made("trainer.kubeflow.org/v1alpha1", "TrainJob", "mnist", metadata={"namespace": SPACE}, spec=spec)


def replicated(scheduler: str, parallelism: int = 1) -> list[Object]:
    pod: Object = {"containers": [{"name": "node", "resources": {"requests": {"cpu": "1"}}}]}
    pod |= {"schedulerName": scheduler} if scheduler else {}
    job = {"template": {"spec": {"parallelism": parallelism, "template": {"spec": pod}}}}
    return [{"name": "node", "replicas": 1, **job}]


def runtime(scheduler: str = "volcano", policy: Object | None = None) -> Object:
    spec: Object = {"template": {"spec": {"replicatedJobs": replicated(scheduler)}}}
    spec |= {"podGroupPolicy": policy} if policy else {}
    return made("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "torch", spec=spec)


def jobset(job: Object, scheduler: str = "volcano") -> list[Object]:
    """The JobSet of a TrainJob for two nodes, and its Job."""
    owner = [{"kind": "TrainJob", "name": "mnist", "uid": job["metadata"]["uid"]}]
    meta = {"namespace": SPACE, "ownerReferences": owner}
    spec = {"replicatedJobs": replicated(scheduler, 2)}
    whole = made("jobset.x-k8s.io/v1alpha2", "JobSet", "mnist", metadata=meta, spec=spec)
    owner = [{"kind": "JobSet", "name": "mnist", "uid": whole["metadata"]["uid"]}]
    meta = {"namespace": SPACE, "ownerReferences": owner}
    return [whole, made("batch/v1", "Job", "mnist-node-0", metadata=meta)]


def pods(jobs: list[Object], scheduler: str, **rest: Any) -> list[Object]:
    labels = {"jobset.sigs.k8s.io/replicatedjob-name": "node"}
    found = [member(jobs[1], n, spec={"schedulerName": scheduler} if scheduler else {}, **rest) for n in range(2)]
    for pod in found:
        pod["metadata"] |= {"labels": labels, "annotations": {"scheduling.k8s.io/group-name": "mnist"}}
    return found


def deployed() -> list[Object]:
    """Trainer and JobSet, up."""
    like = next(item for item in healthy() if item["metadata"]["name"] == "volcano-controllers")
    names = ("kubeflow-trainer-controller-manager", "jobset-controller-manager")
    return [
        like | {"metadata": like["metadata"] | {"name": name, "namespace": "kubeflow-system", "uid": name}}
        for name in names
    ]


def told(job: Object, *around: Object, **rest: Any) -> Explanation:
    return explained(job, *deployed(), *around, access=ACCESS | rest)


def test_a_runtime_that_is_ganged_is_nobody_s_cause() -> None:
    job = trainjob()
    jobs = jobset(job)
    wired = runtime(policy={"volcano": {}})
    answer = told(job, wired, *jobs, group(job, 2, phase="Inqueue"), *pods(jobs, "volcano"))
    assert [item.reason for item in answer.findings] == ["Unexplained"]
    running = pods(jobs, "volcano", on="n1")
    assert told(job, wired, *jobs, group(job, 2, phase="Running"), *running).findings == ()


@pytest.mark.parametrize(
    ("scheduler", "policy", "reason", "text"),
    [
        ("volcano", None, "RuntimeHalfWired", "has no podGroupPolicy.volcano"),
        ("", {"volcano": {}}, "RuntimeHalfWired", "leaves pods to the default scheduler"),
        ("", None, "RuntimeWithoutGang", "has no podGroupPolicy.volcano and leaves pods to the default scheduler"),
    ],
)
def test_a_runtime_that_is_wired_by_half_or_not_at_all_is_told_when_all_pods_are_there(
    scheduler: str, policy: Object | None, reason: str, text: str
) -> None:
    """Such jobs start pod by pod, so that nothing of it is in the way."""
    job = trainjob()
    jobs = jobset(job, scheduler)
    around = [group(job, 2, phase="Pending")] if policy else []
    answer = told(job, runtime(scheduler, policy), *jobs, *around, *pods(jobs, scheduler, on="n1"))
    found = next(item for item in answer.findings if item.reason == reason)
    assert not found.blocks
    assert f"ClusterTrainingRuntime torch {text}: the pods of its jobs are placed one by one." == found.problem.found
    assert not answer.blocked


def test_half_a_wiring_without_room_is_told_as_single_pods_without_room() -> None:
    job = trainjob()
    jobs = jobset(job)
    full = [member(job, n, cpu="4", metadata={"name": f"other-{n}", "uid": f"o{n}"}) for n in range(2)]
    for pod, name in zip(full, ("n1", "n2"), strict=True):
        pod["spec"]["nodeName"] = name
        pod["metadata"]["ownerReferences"] = []
    answer = told(job, runtime(), *jobs, *pods(jobs, "volcano"), *full)
    assert answer.findings[0].reason == "RuntimeHalfWired"
    assert reasons(answer) == ["NoNodeFitsInsufficient"]


def test_a_runtime_that_does_not_exist_comes_before_all_that_follows_from_it() -> None:
    assert reasons(told(trainjob())) == ["RuntimeMissing"]


def test_a_missing_jobset_is_told_with_its_cause() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    assert reasons(told(job, wired)) == ["JobSetMissing", "PodGroupMissing"]
    denied = {"trainer": {"create jobsets.jobset.x-k8s.io": False, "create podgroups.scheduling.volcano.sh": True}}
    assert reasons(told(job, wired, group(job, 2, phase="Inqueue"), **denied)) == ["ControllerMayNot"]


def test_jobset_s_controller_that_may_not_make_jobs_is_why_there_are_no_pods() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs = jobset(job)
    answer = told(job, wired, jobs[0], group(job, 2, phase="Inqueue"), jobset={"create jobs.batch": False})
    assert reasons(answer) == ["ControllerMayNot"]
    assert "jobset-controller-manager, may not create jobs.batch" in answer.findings[0].problem.found
