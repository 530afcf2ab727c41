"""TrainJobs: what their runtime wires, and what Trainer makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Explanation, State
from tests.samples.facts import instant
from tests.samples.jobs import SPACE, event, explained, group, healthy, hooks, member, reasons

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
        ("", {"volcano": {}}, "RuntimeHalfWired", "leaves its pods to the default scheduler"),
        ("", None, "RuntimeWithoutGang", "has no podGroupPolicy.volcano and leaves its pods to the default scheduler"),
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
    assert found.problem.found.startswith(f"ClusterTrainingRuntime torch {text}: ")
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
    for word in ("jobset-controller-manager", "create jobs.batch"):
        assert word in answer.findings[0].problem.found


def in_steps(objects: list[Object]) -> list[Object]:
    """The same with a job that fetches a model, before which no node is made."""
    for obj in objects:
        if obj["kind"] != "Job":
            spec = obj["spec"] if obj["kind"] == "JobSet" else obj["spec"]["template"]["spec"]
            first = replicated("")[0] | {"name": "model-initializer"}
            spec["replicatedJobs"][:0] = [first]
            spec["replicatedJobs"][1]["dependsOn"] = [{"name": "model-initializer", "status": "Complete"}]
    return objects


def fetcher(jobs: list[Object], **rest: Any) -> Object:
    labels = {"jobset.sigs.k8s.io/replicatedjob-name": "model-initializer"}
    pod = member(jobs[1], 9, **rest)
    pod["metadata"] |= {"labels": labels, "annotations": {"scheduling.k8s.io/group-name": "mnist"}}
    return pod


def test_a_gang_of_steps_waits_for_itself() -> None:
    """Trainer counts the nodes, too, which are made when the first step has ended."""
    job = trainjob()
    jobs = in_steps(jobset(job))
    wired = in_steps([runtime(policy={"volcano": {}})])
    answer = told(job, *wired, *jobs, group(job, 3, phase="Inqueue"), fetcher(jobs))
    assert reasons(answer) == ["GangWaitsForItself"]
    found = answer.findings[0].problem
    assert "3 pods" in found.found
    assert "of node " in found.found, "the step that comes later"
    assert "podGroupPolicy" in found.todo
    assert "schedulerName" in found.todo


def test_a_job_of_steps_without_a_gang_has_started_with_its_first_step() -> None:
    job = trainjob()
    jobs = in_steps(jobset(job, ""))
    plain = in_steps([runtime("")])
    alone: dict[str, Any] = {"spec": {"schedulerName": "default-scheduler"}}
    answer = told(job, *plain, *jobs, fetcher(jobs, on="n1", **alone))
    assert (answer.state, answer.findings) == (State.STARTED, ())
    ended = fetcher(jobs, on="n1", **alone)
    ended["status"] = {"phase": "Succeeded"}
    waiting = [member(jobs[1], n, cpu="9", **alone) for n in range(2)]
    for pod in waiting:
        pod["metadata"]["labels"] = {"jobset.sigs.k8s.io/replicatedjob-name": "node"}
    answer = told(job, *plain, *jobs, ended, *waiting)
    assert (answer.state, reasons(answer)) == (State.WAITING, ["NoNodeFitsNever"])


def test_a_jobset_of_somebody_else_takes_the_name() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    other = jobset(job)[0]
    other["metadata"]["ownerReferences"] = []
    answer = told(job, wired, other, group(job, 2, phase="Inqueue"))
    assert reasons(answer)[0] == "NameTaken"
    assert "has no owner" in answer.findings[0].problem.found


def test_what_trainer_was_refused_is_the_cause_of_what_is_missing() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    text = 'TrainJob resources reconciliation failed: admission webhook "policy.example" denied the request: no JobSets'
    said = event(job, "TrainJobResourcesCreationFailed", text)
    answer = told(job, wired, said, hooks("policy.example"))
    assert reasons(answer) == ["WebhookRefused"]
    assert "0 of 2" in answer.findings[0].problem.found
    assert reasons(told(job, said)) == ["RuntimeMissing"]
    jobs = jobset(job)
    around = [*jobs, group(job, 2, phase="Inqueue"), said, hooks("policy.example")]
    assert reasons(told(job, wired, *around)) == ["Unexplained"]


def test_what_jobset_was_refused_is_told() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs = jobset(job)
    asked = "requested: count/jobs.batch=1, used: count/jobs.batch=3, limited: count/jobs.batch=3"
    text = f'jobs.batch "mnist-node-0" is forbidden: exceeded quota: few, {asked}'
    full = {"hard": {"count/jobs.batch": "3"}, "used": {"count/jobs.batch": "3"}}
    quota = made("v1", "ResourceQuota", "few", metadata={"namespace": SPACE}, spec={}, status=full)
    said = event(jobs[0], "JobCreationFailed", text)
    answer = told(job, wired, jobs[0], group(job, 2, phase="Inqueue"), said, quota)
    assert reasons(answer) == ["QuotaTooSmall"]
    full["used"]["count/jobs.batch"] = "2"
    answer = told(job, wired, jobs[0], group(job, 2, phase="Inqueue"), said, quota)
    assert reasons(answer) == ["NotTriedAgain"]


def test_resources_that_trainer_leaves_out_of_the_podgroup_count_with_the_pods() -> None:
    """kubeflow/trainer#2980: resourcesPerNode is not in minResources, so that the gang is admitted, and waits."""
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs = jobset(job)
    small = made("scheduling.volcano.sh/v1beta1", "Queue", "default", spec={"weight": 1, "capability": {"cpu": "1"}})
    small["status"] = {"state": "Open"}
    asked = group(job, 2, phase="Inqueue", cpu="200m")
    answer = told(job, wired, *jobs, asked, small, *pods(jobs, "volcano"))
    assert reasons(answer) == ["OverCapability"]
    assert "requests 2, 0 of 1" in answer.findings[0].problem.found


def test_what_a_train_job_asks_for_is_named_in_its_own_fields() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs = jobset(job)
    full = [member(job, n, cpu="3500m", on=f"n{n + 1}", metadata={"name": f"o-{n}", "uid": f"o{n}"}) for n in range(2)]
    full[1]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2500m"
    for pod in full:
        pod["metadata"]["ownerReferences"] = []
    answer = told(job, wired, *jobs, group(job, 2, phase="Inqueue"), *pods(jobs, "volcano"), *full)
    assert reasons(answer) == ["GangDoesNotFit"]
    assert "trainer.numNodes" in answer.findings[0].problem.todo
    assert "minAvailable" not in answer.findings[0].problem.todo


def test_runtimes_that_are_there_are_named() -> None:
    other = runtime()
    other["metadata"]["name"] = "deepspeed"
    answer = told(trainjob(), other)
    assert "there are deepspeed." in answer.findings[0].problem.needed


def test_a_pod_that_failed_and_was_replaced_holds_no_place() -> None:
    """The Job keeps it, and its successor finds no node."""
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs = jobset(job)
    one, other = pods(jobs, "volcano", on="n1")
    other["status"] = {"phase": "Failed"}
    _, new = pods(jobs, "volcano", cpu="9")
    new["metadata"] |= {"name": "mnist-node-0-1-new", "uid": "uid-new"}
    around = [*jobs, group(job, 2, phase="Running")]
    assert reasons(told(job, wired, *around, one, other, new)) == ["NoNodeFitsNever"]
    assert told(job, wired, *around, one, other).blocked


def quota(**hard: str) -> Object:
    """A quota of the namespace that is used up."""
    named = {f"count/{name}": most for name, most in hard.items()}
    status = {"hard": named, "used": named}
    return made("v1", "ResourceQuota", "few", metadata={"namespace": SPACE}, spec={}, status=status)


def test_a_quota_for_what_pods_are_made_from_is_told_before_anybody_has_tried() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs, of_job = jobset(job), group(job, 2, phase="Inqueue")
    assert reasons(told(job, wired, jobs[0], of_job, quota(**{"jobs.batch": "0"}))) == ["QuotaTooSmall"]
    assert reasons(told(job, wired, of_job, quota(**{"jobsets.jobset.x-k8s.io": "0"}))) == ["QuotaTooSmall"]


def test_pods_that_are_refused_for_want_of_a_podgroup_are_no_further_cause() -> None:
    job, wired = trainjob(), runtime(policy={"volcano": {}})
    jobs = jobset(job)
    text = 'admission webhook "validatepod.volcano.sh" denied the request: failed to get PodGroup for pod <a/b>'
    around = [*jobs, event(jobs[1], "FailedCreate", text), hooks("validatepod.volcano.sh")]
    answer = told(job, wired, *around, quota(**{"podgroups.scheduling.volcano.sh": "0"}))
    assert reasons(answer) == ["QuotaTooSmall"]


def test_a_jobset_of_the_cluster_is_where_its_webhooks_are() -> None:
    job = trainjob()
    trainer = deployed()[0]
    around = (trainer, runtime(policy={"volcano": {}}))
    assert "ControllerMissing" in reasons(explained(job, *around, access=ACCESS))
    service = {"name": "jobset-webhook-service", "namespace": "jobset-system"}
    own = hooks("vjobset.kb.io")
    own["webhooks"][0] |= {"clientConfig": {"service": service}, "failurePolicy": "Ignore"}
    assert "ControllerMissing" not in reasons(explained(job, *around, own, access=ACCESS))
