"""Webhooks that cannot answer, and accounts that may not, before any event tells of them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from tests.samples.certificates import pem, signer
from tests.samples.facts import NOW, instant
from tests.samples.jobs import SPACE, event, explained, group, healthy, member, reasons, tfjob, vcjob

SYSTEM = "volcano-system"
BACKEND = "volcano-admission-service"


@cache
def bundle() -> str:
    """An authority's certificate as a caBundle has it."""
    made = signer("authority", now=datetime.fromtimestamp(NOW, UTC), begins=-1, days=8)
    return base64.b64encode(pem(made.certificate)).decode()


def obj(api_version: str, kind: str, name: str, namespace: str = "", **rest: Any) -> Object:
    meta = {"name": name, "uid": f"uid-{kind}-{name}", "creationTimestamp": instant(600), **rest.pop("metadata", {})}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": meta | ({"namespace": namespace} if namespace else {}),
        **rest,
    }


def hook(name: str = "mutatepod.volcano.sh", resources: str = "pods", group_: str = "", **rest: Any) -> Object:
    """A mutating webhook of Volcano on creations of one resource."""
    version = "v1beta1" if group_ else "v1"
    rule = {"operations": ["CREATE"], "apiGroups": [group_], "apiVersions": [version], "resources": [resources]}
    service = {"namespace": SYSTEM, "name": BACKEND, "port": 443}
    entry = {
        "name": name,
        "clientConfig": {"service": service, "caBundle": bundle()},
        "rules": [rule],
        "namespaceSelector": {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [SYSTEM]}]
        },
        **rest,
    }
    kind = "MutatingWebhookConfiguration"
    return obj("admissionregistration.k8s.io/v1", kind, f"cfg-{name}", webhooks=[entry])


def backend(*, ready: bool = True) -> list[Object]:
    service = obj("v1", "Service", BACKEND, SYSTEM, spec={"ports": [{"port": 443}], "selector": {"app": "x"}})
    labels = {"kubernetes.io/service-name": BACKEND}
    slices = obj(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        f"{BACKEND}-1",
        SYSTEM,
        metadata={"labels": labels},
        ports=[{"port": 8443, "name": ""}],
        endpoints=[{"conditions": {"ready": ready}}],
    )
    return [service, slices]


def test_a_webhook_on_pods_without_a_backend_is_told_before_anybody_has_tried() -> None:
    job = tfjob()
    answer = explained(job, group(job, phase="Inqueue"), hook(), *backend(ready=False))
    assert reasons(answer) == ["WebhookUnanswered"]
    found = answer.findings[0]
    for word in ("each Pod ", "mutatepod.volcano.sh", f"{SYSTEM}/{BACKEND}", "no ready endpoint"):
        assert word in found.problem.found
    assert "pods" in found.problem.todo
    assert found.commands == (f"kubectl -n {SYSTEM} get pods,endpoints",)


def test_a_service_that_is_gone_is_told_as_such() -> None:
    job = tfjob()
    answer = explained(job, group(job, phase="Inqueue"), hook())
    assert reasons(answer) == ["WebhookUnanswered"]
    assert "not exist" in answer.findings[0].problem.found
    assert "delete the webhook" in answer.findings[0].problem.todo


@pytest.mark.parametrize(
    "harmless",
    [
        hook(failurePolicy="Ignore"),
        hook(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}),
        hook(objectSelector={"matchLabels": {"app": "other"}}),
        hook(resources="deployments"),
    ],
)
def test_a_webhook_that_does_not_matter_is_not_told(harmless: Object) -> None:
    job = tfjob()
    assert reasons(explained(job, group(job, phase="Inqueue"), harmless)) == ["Unexplained"]


def test_a_webhook_that_answers_and_one_whose_pods_are_all_there_are_in_nobody_s_way() -> None:
    job = tfjob()
    assert reasons(explained(job, group(job, phase="Inqueue"), hook(), *backend())) == ["Unexplained"]
    pods = [member(job, 0), member(job, 1)]
    assert reasons(explained(job, group(job, phase="Inqueue"), *pods, hook())) == ["Unexplained"]


def test_labels_of_operators_are_known_before_the_pods_are() -> None:
    picky = hook(objectSelector={"matchExpressions": [{"key": "training.kubeflow.org/job-name", "operator": "Exists"}]})
    job = tfjob()
    assert reasons(explained(job, group(job, phase="Inqueue"), picky)) == ["WebhookUnanswered"]


def test_conditions_that_nobody_can_evaluate_here_are_told() -> None:
    job = tfjob()
    answer = explained(job, group(job, phase="Inqueue"), hook(matchConditions=[{"name": "a", "expression": "true"}]))
    assert "matchConditions" in answer.findings[0].problem.found


def test_a_webhook_on_podgroups_is_why_there_is_none() -> None:
    of_groups = hook("mutatepodgroup.volcano.sh", "podgroups", "scheduling.volcano.sh")
    answer = explained(tfjob(), of_groups, *backend(ready=False))
    assert reasons(answer) == ["WebhookUnanswered"]
    for word in ("each PodGroup ", "mutatepodgroup.volcano.sh"):
        assert word in answer.findings[0].problem.found
    both = explained(tfjob(), of_groups, hook(), *backend(ready=False))
    assert reasons(both) == ["WebhookUnanswered", "WebhookUnanswered"]
    assert "each Pod of" in both.findings[1].problem.found


def test_an_event_of_the_same_webhook_is_not_told_again() -> None:
    job = tfjob()
    said = event(job, "FailedCreatePod", 'failed calling webhook "mutatepod.volcano.sh": connection refused')
    answer = explained(job, group(job, phase="Inqueue"), said, hook(), *backend(ready=False))
    assert reasons(answer) == ["WebhookUnanswered"]


def test_a_webhook_that_answers_again_leaves_the_pause_of_the_controller() -> None:
    job = tfjob()
    said = event(job, "FailedCreatePod", 'failed calling webhook "mutatepod.volcano.sh": connection refused')
    said["lastTimestamp"] = instant(120)
    healed = explained(job, group(job, phase="Inqueue"), said, hook(), *backend())
    assert reasons(healed) == ["NotTriedAgain"]
    assert "mutatepod.volcano.sh has a ready" in healed.findings[0].problem.found
    (command,) = healed.findings[0].changes
    assert command.startswith(f"kubectl -n {SPACE} annotate tfjob.kubeflow.org mnist --overwrite kfv.io/look-again=")
    said["lastTimestamp"] = instant(3)
    assert reasons(explained(job, group(job, phase="Inqueue"), said, hook(), *backend())) == ["WebhookUnanswered"]
    gone = explained(job, group(job, phase="Inqueue"), said)
    assert reasons(gone) == ["NotTriedAgain"]
    assert "mutatepod.volcano.sh was deleted" in gone.findings[0].problem.found


def test_an_operator_that_may_not_make_podgroups_is_why_there_is_none() -> None:
    denied = {"create podgroups.scheduling.volcano.sh": False, "list podgroups.scheduling.volcano.sh": True}
    operator = next(item for item in healthy() if item["metadata"]["name"] == "training-operator")
    operator["spec"]["template"]["spec"]["serviceAccountName"] = "training-operator"
    answer = explained(tfjob(), operator, access={"training-operator": denied})
    assert reasons(answer) == ["ControllerMayNot"]
    account = "system:serviceaccount:kubeflow:training-operator"
    for word in (account, "Deployment kubeflow/training-operator", "podgroups.scheduling.volcano.sh", f" {SPACE}."):
        assert word in answer.findings[0].problem.found
    assert answer.findings[0].commands == (
        f"kubectl -n {SPACE} auth can-i create podgroups.scheduling.volcano.sh --as {account}",
    )


def test_a_controller_that_may_not_make_pods_is_told_while_pods_are_missing() -> None:
    job, denied = vcjob(), {"volcano": {"create pods": False}}
    assert reasons(explained(job, group(job, phase="Inqueue"), access=denied)) == ["ControllerMayNot"]
    pods = [member(job, 0, on="n1"), member(job, 1, on="n2")]
    assert explained(job, group(job, phase="Running"), *pods, access=denied).findings == ()


def test_who_may_not_ask_is_told_what_to_ask_for() -> None:
    missing = {"operator-access": Unread("Forbidden", "you may not create subjectaccessreviews.", "have it granted.")}
    answer = explained(tfjob(), unread=missing)
    assert not answer.blocked
    assert [item.message for item in answer.unread] == [missing["operator-access"].message]
