"""What a job's own spec keeps from happening: refused by the operator or in a dry run, no replicas, no requests."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.explain.creation.refusals import ADMISSION
from kubeflow_volcano.validators.explain.model import GROUP_NAME
from kubeflow_volcano.validators.reading.dry_runs import Answer
from tests.samples.jobs import event, explained, group, member, reasons, tfjob, vcjob

BARE: Object = {"containers": [{"name": "tensorflow", "image": "example/image:v1"}]}


def mpijob(*roles: str) -> Object:
    job = tfjob()
    replicas = {name: {"replicas": 1, "template": {"spec": BARE}} for name in roles}
    return {**job, "kind": "MPIJob", "spec": {"mpiReplicaSpecs": replicas}}


def test_what_the_operator_refuses_is_told_and_not_called_a_missing_podgroup() -> None:
    job = mpijob("Worker")
    said = event(job, "MPIJobFailedValidation", "MPIReplicaSpec is not valid: Master ReplicaSpec must be present")
    (found,) = explained(job, said).findings
    assert found.reason == "SpecInvalid"
    assert "Launcher" in found.problem.todo
    whole = mpijob("Launcher", "Worker")
    assert reasons(explained(whole, group(whole, 2, phase="Running"), said)) == ["Unexplained"]
    other = tfjob()
    (found,) = explained(other, event(other, "TFJobFailedValidation", "image is undefined")).findings
    assert "Launcher" not in found.problem.todo


def test_a_job_without_replicas_runs_nothing_whatever_its_state_says() -> None:
    job = tfjob(workers=0)
    done = {**job, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    assert [(item.reason, item.blocks) for item in explained(done, member(job)).findings] == [("NoReplicas", False)]
    none = vcjob(workers=0)
    assert reasons(explained(none, group(none, 1, phase="Completed"))) == ["NoReplicas"]
    assert explained(done | {"spec": tfjob()["spec"]}).findings == ()


def test_pods_of_a_role_without_replicas_come_and_go() -> None:
    job = tfjob(workers=1)
    job["spec"]["tfReplicaSpecs"]["PS"] = {"replicas": 0, "template": {"spec": BARE}}
    passing = member(job, 9, on="n1", ready=False, metadata={"labels": {"training.kubeflow.org/replica-type": "ps"}})
    answer = explained(job, group(job, 1, phase="Running"), member(job, 0, on="n1"), passing)
    assert answer.findings == ()


def ended(*pods: Object, kind: str = "Succeeded") -> list[tuple[str, bool]]:
    job = {**tfjob(), "status": {"conditions": [{"type": kind, "status": "True", "message": "m"}]}}
    return [(item.reason, item.blocks) for item in explained(job, *pods).findings]


def test_a_gang_without_requests_that_ended_may_have_run_in_part() -> None:
    job = tfjob()
    ran = member(job, 0, on="n1", spec=BARE, status={"phase": "Succeeded"})
    waits = member(job, 1, spec=BARE)
    assert ended(ran, waits) == [("NotHeldTogether", False)]
    assert ended(ran, waits, kind="Failed") == [("NotHeldTogether", False), ("Failed", True)]
    assert ended(member(job, 0, on="n1", status={"phase": "Succeeded"})) == []
    alone = {**ran, "metadata": {**ran["metadata"], "annotations": {GROUP_NAME: ""}}}
    assert ended(alone) == []


def refused(kind: str, text: str, *around: Object, **more: Any) -> list[tuple[str, bool]]:
    job = tfjob()
    answer = explained(job, group(job), *around, admission={"Worker": Answer(kind, "", text)}, **more)
    return [(item.reason, item.blocks) for item in answer.findings]


def test_what_a_dry_run_refuses_is_told_before_a_controller_tries() -> None:
    assert refused("invalid", "spec.containers[0].image: Required value") == [("PodInvalid", True)]
    assert refused("refused", "violates PodSecurity") == [("PodSecurity", True)]
    # A webhook may judge the account of the controller otherwise.
    assert refused("denied", 'admission webhook "a.b" denied the request')[0] == ("WebhookRefused", False)
    assert refused("silent", "no answer") == [("Unexplained", True)]
    assert refused("invalid", "x", member(tfjob(), 0)) == [("Unexplained", True)]


def test_no_room_is_judged_for_pods_that_admission_was_not_seen_to_change() -> None:
    job = tfjob(template={"nodeSelector": {"no": "where"}})
    refused_pods = {"Worker": Answer("invalid", "", "x")}
    assert reasons(explained(job, group(job))) == ["NoNodeFitsSelector"]
    assert reasons(explained(job, group(job), admission=refused_pods)) == ["PodInvalid"]


def test_who_may_not_make_dry_runs_is_told_so() -> None:
    why = Unread("Forbidden", "you may not create pods in team-a.", "grant it.")
    answer = explained(tfjob(), group(tfjob(), 2), unread={ADMISSION.name: why})
    assert answer.unread == (why,)
