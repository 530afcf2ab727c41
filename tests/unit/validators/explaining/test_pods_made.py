"""What keeps pods from being created."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from validators.explaining.model import State
from validators.explaining.testing import SPACE, event, explained, group, member, reasons, tfjob, vcjob
from validators.testing import instant


def of_namespace(kind: str, spec: Object, **status: Any) -> Object:
    meta = {"name": "limits", "namespace": SPACE, "uid": f"uid-{kind}", "creationTimestamp": instant(60)}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec, "status": status}


def quota(hard: dict[str, str], used: dict[str, str]) -> Object:
    return of_namespace("ResourceQuota", {"hard": hard}, hard=hard, used=used)


def test_a_quota_without_room_for_the_whole_job_is_told_with_numbers() -> None:
    job = tfjob(workers=4)
    answer = explained(job, group(job, 4), quota({"requests.cpu": "5"}, {"requests.cpu": "2"}))
    assert reasons(answer) == ["QuotaTooSmall"]
    assert "requests.cpu: 4 more wanted, 2 of 5 used" in answer.findings[0].problem.found
    assert reasons(explained(job, group(job, 4), quota({"requests.cpu": "6"}, {"requests.cpu": "2"}))) == [
        "Unexplained"
    ]


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
    assert answer.findings[0].problem.todo == "ask for less cpu, or have the quota raised."


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"type": "Container", "max": {"cpu": "500m"}}, "container tensorflow has no cpu as limit, max 500m"),
        ({"type": "Container", "min": {"memory": "1Gi"}}, "container tensorflow asks for 0 memory, min 1Gi"),
        ({"type": "Pod", "min": {"cpu": "2"}}, "the pod asks for 1 cpu, min 2"),
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
        ('admission webhook "validatepod.volcano.sh" denied the request: no queue', "WebhookRefused"),
        ('failed calling webhook "mutatepod.volcano.sh": connection refused', "WebhookUnanswered"),
        ('pods "mnist-worker-0" is forbidden: violates PodSecurity "restricted:latest"', "PodSecurity"),
        ('pods "x" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2', "QuotaTooSmall"),
        ('pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 2', "OutsideLimits"),
        ('ValidatingAdmissionPolicy "p" with binding "b" denied request: no', "PolicyRefused"),
        ('pods "x" is forbidden: no PriorityClass with name high was found', "PriorityClassMissing"),
        ('pods "x" is forbidden: error looking up service account team-a/sa: not found', "ServiceAccountMissing"),
        ("something new", "PodsRefused"),
    ],
)
def test_a_refusal_of_the_api_server_is_told_in_its_own_words(message: str, reason: str) -> None:
    job = tfjob()
    answer = explained(job, group(job, phase="Inqueue"), event(job, "FailedCreatePod", message))
    assert reasons(answer) == [reason]
    assert message in answer.findings[0].problem.found


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
    assert "pods: 4 more wanted" in answer.findings[0].problem.found


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
