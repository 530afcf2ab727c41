"""What keeps pods from being created."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Finding, State
from tests.samples.facts import instant
from tests.samples.jobs import SPACE, event, explained, group, hooks, member, reasons, tfjob, vcjob


def of_namespace(kind: str, spec: Object, **status: Any) -> Object:
    meta = {"name": "limits", "namespace": SPACE, "uid": f"uid-{kind}", "creationTimestamp": instant(60)}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec, "status": status}


def quota(hard: dict[str, str], used: dict[str, str]) -> Object:
    return of_namespace("ResourceQuota", {"hard": hard}, hard=hard, used=used)


def test_a_quota_without_room_for_the_whole_job_is_told_with_numbers() -> None:
    job = tfjob(workers=4)
    answer = explained(job, group(job, 4), quota({"requests.cpu": "5"}, {"requests.cpu": "2"}))
    assert reasons(answer) == ["QuotaTooSmall"]
    assert "requests.cpu: 4 more needed, 2 of 5" in answer.findings[0].problem.found
    assert reasons(explained(job, group(job, 4), quota({"requests.cpu": "6"}, {"requests.cpu": "2"}))) == [
        "Unexplained"
    ]


def test_a_quota_that_refuses_only_what_the_gang_can_start_without_blocks_nothing() -> None:
    job = tfjob(workers=4)
    room = quota({"requests.cpu": "3"}, {"requests.cpu": "0"})
    for minimum, blocks in ((3, False), (4, True)):
        found = explained(job, group(job, minimum), room).findings[0]
        assert (found.reason, found.blocks) == ("QuotaTooSmall", blocks)


def test_resources_of_the_whole_pod_are_what_quotas_and_limit_ranges_ask_for() -> None:
    whole = {"containers": [{"name": "tensorflow"}], "resources": {"limits": {"cpu": "1"}}}
    job = tfjob(workers=2, template=whole)
    limits = of_namespace("LimitRange", {"limits": [{"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "1"}}]})
    for amount, expected in (("2", "Unexplained"), ("1", "QuotaTooSmall")):
        assert reasons(explained(job, group(job), limits, quota({"limits.cpu": amount}, {}))) == [expected]


def test_a_quota_counts_pods_and_only_those_that_are_not_made_yet() -> None:
    job = tfjob(workers=2)
    pods = [member(job, 0), member(job, 1)]
    full = quota({"pods": "2"}, {"pods": "2"})
    assert "QuotaTooSmall" in reasons(explained(job, group(job), full))
    assert "QuotaTooSmall" not in reasons(explained(job, group(job), *pods, full))


def test_a_quota_wants_to_hear_of_what_it_limits() -> None:
    job = tfjob(template={"initContainers": [{"name": "wait"}]})
    roomy = quota({"requests.cpu": "50"}, {})
    answer = explained(job, group(job), roomy)
    assert reasons(answer) == ["QuotaNeedsRequests"]
    assert "limits requests.cpu" in answer.findings[0].problem.found
    defaults = of_namespace("LimitRange", {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1m"}}]})
    assert "QuotaNeedsRequests" not in reasons(explained(job, group(job), roomy, defaults))
    refused = event(job, "FailedCreatePod", "failed quota: q: must specify requests.cpu for: wait")
    assert reasons(explained(job, group(job, phase="Inqueue"), refused)) == ["QuotaNeedsRequests"]


def test_a_quota_that_is_too_small_for_ever_asks_for_less() -> None:
    job = tfjob(workers=4)
    answer = explained(job, group(job, 4), quota({"cpu": "3"}, {"cpu": "0"}))
    assert "less cpu" in answer.findings[0].problem.todo
    assert "wait" not in answer.findings[0].problem.todo


def test_who_holds_a_quota_is_told_and_that_waiting_helps_nobody_where_the_holder_waits_itself() -> None:
    job, other = tfjob(workers=2), tfjob("wide")
    full = quota({"requests.cpu": "3"}, {"requests.cpu": "3"})
    own = member(job, 0)

    def told(holder: Object) -> Finding:
        return explained(job, group(job, 2), own, group(other, 1), holder, full).findings[0]

    (first, *_) = told(member(other, cpu="2")).details
    assert first.startswith("Pod wide-worker-0 of TFJob wide ")
    assert "2 requests.cpu" in first
    assert first.endswith("no node")
    assert told(member(other, cpu="2")).problem.todo.startswith("see why ")
    assert told(member(other, cpu="2", on="n1")).problem.todo.startswith("wait ")


def test_a_quota_that_the_gang_itself_fills_is_never_enough() -> None:
    job = tfjob(workers=2)
    full = quota({"requests.cpu": "1"}, {"requests.cpu": "1"})
    todo = explained(job, group(job, 2), member(job, 0), full).findings[0].problem.todo
    assert "less requests.cpu" in todo
    assert "wait" not in todo


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"type": "Container", "max": {"cpu": "500m"}}, "container tensorflow has no limit of cpu, max 500m"),
        ({"type": "Container", "min": {"memory": "1Gi"}}, "container tensorflow requests 0 memory, min 1Gi"),
        ({"type": "Pod", "min": {"cpu": "2"}}, "the pod requests 1 cpu, min 2"),
    ],
)
def test_a_limit_range_that_does_not_admit_the_pods(limit: Object, text: str) -> None:
    job = tfjob()
    answer = explained(job, group(job), of_namespace("LimitRange", {"limits": [limit]}))
    assert reasons(answer) == ["OutsideLimits"]
    assert text in answer.findings[0].problem.found


def test_a_limit_range_fills_in_what_it_asks_for() -> None:
    job = tfjob(template={"containers": [{"name": "tensorflow"}]})
    limit = {"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}
    assert "OutsideLimits" not in reasons(explained(job, group(job), of_namespace("LimitRange", {"limits": [limit]})))
    small = quota({"requests.cpu": "1"}, {})
    answer = explained(job, group(job), of_namespace("LimitRange", {"limits": [limit]}) | {}, small)
    assert "QuotaTooSmall" in reasons(answer)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('admission webhook "validatepod.volcano.sh" denied the request: bad budget', "WebhookRefused"),
        ('failed calling webhook "mutatepod.volcano.sh": connection refused', "WebhookUnanswered"),
        ('pods "mnist-worker-0" is forbidden: violates PodSecurity "restricted:latest"', "PodSecurity"),
        ('pods "x" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2', "QuotaTooSmall"),
        ('pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 2', "OutsideLimits"),
        ('ValidatingAdmissionPolicy "p" with binding "b" denied request: no', "PolicyRefused"),
        ('pods "x" is forbidden: no PriorityClass with name high was found', "PriorityClassMissing"),
        ('pods "x" is forbidden: error looking up service account team-a/sa: not found', "ServiceAccountMissing"),
        ('pods is forbidden: User "system:serviceaccount:n:a" cannot create resource "pods"', "ControllerMayNot"),
        ('pods "x" is forbidden: unable to create content: n is being terminated', "NamespaceEnding"),
        ('object is being deleted: pods "mnist-worker-0" already exists', "NameTaken"),
        ("something new", "PodsRefused"),
    ],
)
def test_a_refusal_of_the_api_server_is_told_in_its_own_words(message: str, reason: str) -> None:
    job = tfjob()
    full = quota({"cpu": "2"}, {"cpu": "2"})
    full["metadata"]["name"] = "q"
    around = [hooks("validatepod.volcano.sh", "mutatepod.volcano.sh"), *([full] if reason == "QuotaTooSmall" else ())]
    said = event(job, "FailedCreatePod", message)
    answer = explained(job, group(job, phase="Inqueue"), said, *around)
    assert reasons(answer) == [reason]
    assert reason == "QuotaTooSmall" or message in answer.findings[0].problem.found


def test_a_podgroup_of_a_volcano_job_that_is_refused_is_told_in_the_api_server_s_words() -> None:
    job = vcjob()
    denied = "ValidatingAdmissionPolicy 'teams' with binding 'all' denied request: no params found"
    said = event(job, "PodGroupError", f'Failed to create PodGroup, err: podgroups "mnist" is forbidden: {denied}')
    answer = explained(job, said)
    assert reasons(answer) == ["PolicyRefused"]
    assert denied in answer.findings[0].problem.found


def test_the_operator_s_words_about_an_mpijob_s_pods_are_in_the_event_of_its_failure() -> None:
    job = tfjob()
    wordless = event(job, "FailedCreatePod", "Created worker pod: ")
    assert "PodsRefused" not in reasons(explained(job, group(job, phase="Inqueue"), wordless))
    said = event(job, "MPIJobFailed", "worker pod created failed: violates PodSecurity level")
    answer = explained(job, group(job, phase="Inqueue"), wordless, said)
    assert reasons(answer) == ["PodSecurity"]
    assert "worker pod created" in answer.findings[0].problem.found  # the operator's own words


def test_a_refusal_is_history_once_the_pods_are_there() -> None:
    job = tfjob()
    pods = [member(job, 0, on="n1"), member(job, 1, on="n2")]
    old = event(job, "FailedCreatePod", "exceeded quota")
    assert explained(job, group(job, phase="Running"), *pods, old).findings == ()


def test_a_refusal_of_more_than_the_gang_needs_keeps_nobody() -> None:
    job = tfjob(workers=3)
    refused = event(job, "FailedCreatePod", "exceeded quota")
    answer = explained(job, group(job, 1, phase="Running"), member(job, on="n1"), refused)
    assert [(item.reason, item.blocks) for item in answer.findings] == [("QuotaTooSmall", False)]


def test_a_quota_and_its_refusal_are_one_thing() -> None:
    job = tfjob(workers=4)
    refused = event(job, "FailedCreatePod", "exceeded quota: limits")
    answer = explained(job, group(job, 4), quota({"pods": "1"}, {"pods": "0"}), refused)
    assert reasons(answer) == ["QuotaTooSmall"]
    assert "pods: 4 more needed" in answer.findings[0].problem.found


def test_a_priority_class_that_does_not_exist_refuses_pods_and_only_lowers_a_group() -> None:
    of_pods = tfjob(template={"priorityClassName": "high"})
    assert reasons(explained(of_pods, group(of_pods))) == ["PriorityClassMissing"]
    of_group = tfjob(runPolicy={"schedulingPolicy": {"priorityClass": "high"}})
    answer = explained(of_group, group(of_group, phase="Running"), member(of_group, 0, on="n1"))
    assert next((item.reason, item.blocks) for item in answer.findings) == ("PriorityClassMissing", False)
    critical = tfjob(template={"priorityClassName": "system-node-critical"})
    assert "PriorityClassMissing" not in reasons(explained(critical, group(critical)))


def test_a_suspended_job_has_no_pods_on_purpose() -> None:
    answer = explained(tfjob(runPolicy={"suspend": True}))
    assert (answer.state, reasons(answer)) == (State.SUSPENDED, ["Suspended"])
    aborted = vcjob() | {"status": {"state": {"phase": "Aborted"}}}
    assert reasons(explained(aborted)) == ["Aborted"]


def test_a_job_that_has_ended_is_told_as_such() -> None:
    ended = {"conditions": [{"type": "Failed", "status": "True", "message": "TFJob mnist has failed: exit code 2"}]}
    answer = explained(tfjob() | {"status": ended})
    assert (answer.state, reasons(answer)) == (State.FAILED, ["Failed"])
    assert "exit code 2" in answer.findings[0].problem.found
    well = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    assert explained(tfjob() | {"status": well}).state is State.SUCCEEDED


@pytest.mark.parametrize(
    ("message", "around", "past"),
    [
        (
            'pods "x" is forbidden: exceeded quota: limits, requested: cpu=1, used: cpu=2, limited: cpu=2',
            [quota({"cpu": "4"}, {"cpu": "0"})],
            "quota limits has room for everything that is missing",
        ),
        (
            'pods "x" is forbidden: exceeded quota: gone, requested: cpu=1, used: cpu=2, limited: cpu=2',
            [],
            "quota gone was deleted",
        ),
        (
            'pods "x" is forbidden: no PriorityClass with name high was found',
            [{**of_namespace("PriorityClass", {}), "apiVersion": "scheduling.k8s.io/v1"} | {"value": 9}],
            "high was created",
        ),
        (
            'pods "x" is forbidden: error looking up service account team-a/runner: serviceaccount "runner" not found',
            [of_namespace("ServiceAccount", {})],
            "runner was created",
        ),
    ],
)
def test_a_cause_that_has_healed_leaves_the_pause_of_the_controller(
    message: str, around: list[Object], past: str
) -> None:
    for item in around:
        item["metadata"]["name"] = past.split(maxsplit=1)[0] if "created" in past else item["metadata"]["name"]
        if item["kind"] == "PriorityClass":
            del item["metadata"]["namespace"]
    job = tfjob()
    answer = explained(job, group(job, phase="Inqueue"), event(job, "FailedCreatePod", message), *around)
    assert reasons(answer) == ["NotTriedAgain"]
    assert f"Since then {past}." in answer.findings[0].problem.found
    assert "annotate tfjob.kubeflow.org mnist" in answer.findings[0].changes[0]


def test_a_quota_that_has_room_for_some_and_not_for_all_has_not_healed() -> None:
    job = tfjob(workers=3)
    refused = event(job, "FailedCreatePod", "exceeded quota: limits, requested: cpu=1, used: cpu=2, limited: cpu=2")
    answer = explained(job, group(job, 3, phase="Inqueue"), quota({"cpu": "2"}, {"cpu": "0"}), refused)
    assert reasons(answer) == ["QuotaTooSmall"]


def test_a_right_that_was_granted_leaves_the_pause_of_the_controller() -> None:
    job = vcjob()
    said = event(job, "FailedCreate", 'pods is forbidden: User "system:serviceaccount:n:a" cannot create resource "p"')
    answer = explained(job, group(job, phase="Inqueue"), said, access={"volcano": {"create pods": True}})
    assert reasons(answer) == ["NotTriedAgain"]
    restart = "kubectl -n volcano-system rollout restart deployment/volcano-controllers"
    assert answer.findings[0].changes == (restart,)


def test_a_service_account_that_does_not_exist_is_told_before_anybody_has_tried() -> None:
    job = tfjob(template={"serviceAccountName": "runner"})
    answer = explained(job, group(job, phase="Inqueue"))
    assert reasons(answer) == ["ServiceAccountMissing"]
    account = of_namespace("ServiceAccount", {})
    account["metadata"]["name"] = "runner"
    assert reasons(explained(job, group(job, phase="Inqueue"), account)) == ["Unexplained"]


@pytest.mark.parametrize(("role", "found"), [("Launcher", False), ("Worker", True)])
def test_the_operator_creates_the_service_account_of_a_launcher_and_no_other(role: str, *, found: bool) -> None:
    job = tfjob(template={"serviceAccountName": "runner"})
    spec = job["spec"].pop("tfReplicaSpecs")["Worker"]
    job = job | {"kind": "MPIJob", "spec": {**job["spec"], "mpiReplicaSpecs": {role: spec}}}
    assert ("ServiceAccountMissing" in reasons(explained(job, group(job, phase="Inqueue")))) is found


def test_a_quota_on_podgroups_is_why_there_is_none() -> None:
    name = "count/podgroups.scheduling.volcano.sh"
    assert reasons(explained(tfjob(), quota({name: "2"}, {name: "2"}))) == ["QuotaTooSmall"]
    assert reasons(explained(tfjob(), quota({name: "2"}, {name: "1"}))) == ["PodGroupMissing"]


def test_a_job_that_is_being_deleted_makes_nothing_more() -> None:
    job = tfjob()
    job["metadata"] |= {"deletionTimestamp": instant(30), "finalizers": ["example.com/hold"]}
    answer = explained(job, group(job))
    assert reasons(answer) == ["BeingDeleted"]
    assert "finalizers: example.com/hold" in answer.findings[0].problem.found


def test_a_namespace_that_is_being_deleted_takes_nothing_new() -> None:
    space = of_namespace("Namespace", {})
    space["metadata"] |= {"name": SPACE, "deletionTimestamp": instant(30)}
    del space["metadata"]["namespace"]
    job = tfjob()
    assert reasons(explained(job, group(job), space)) == ["NamespaceEnding"]
