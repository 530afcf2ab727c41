"""Who is to place the pods."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.jobs import explained, group, healthy, member, reasons, tfjob


def changed(name: str, **rest: object) -> Object:
    found = next(item for item in healthy() if item["metadata"]["name"] == name)
    return found | rest


def configured(text: str) -> Object:
    return changed("volcano-scheduler-configmap", data={"volcano-scheduler.conf": text})


def test_volcano_s_scheduler_must_be_there_before_pods_are_made() -> None:
    job = tfjob()
    assert reasons(explained(job, group(job, phase=""), without=["volcano-scheduler"])) == ["SchedulerMissing"]
    down = changed("volcano-scheduler", status={"observedGeneration": 1, "unavailableReplicas": 1})
    assert reasons(explained(job, group(job, phase=""), down)) == ["SchedulerDown"]


def test_a_scheduler_of_a_name_that_nobody_has() -> None:
    job = tfjob(workers=1)
    pod = member(job, 0, spec={"schedulerName": "kube-batch"})
    answer = explained(job, pod, without=["training-operator"])
    assert "SchedulerUnknown" in reasons(answer)


def test_members_for_another_scheduler_are_no_gang() -> None:
    job = tfjob()
    pods = [member(job, 0, spec={"schedulerName": "default-scheduler"}, on="n1"), member(job, 1)]
    answer = explained(job, group(job, phase="Inqueue"), *pods)
    assert next((item.reason, item.blocks) for item in answer.findings) == ("OtherScheduler", False)
    assert "1 of 2 pods name the scheduler default-scheduler" in answer.findings[0].problem.found


def test_pods_that_do_not_name_their_group_are_placed_singly() -> None:
    job = tfjob()
    pods = [member(job, number, metadata={"annotations": {}}) for number in range(2)]
    assert reasons(explained(job, group(job, phase="Inqueue"), *pods)) == ["NotInGroup"]


@pytest.mark.parametrize(
    ("text", "reason", "blocks"),
    [
        ("actions: enqueue, backfill\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: drf}]", "A", True),
        ("actions: enqueue, allocate\ntiers:\n- plugins: [{name: predicates}, {name: proportion}]", "G", False),
        ("actions: [", "U", False),
    ],
)
def test_a_configuration_without_gang_or_allocate(text: str, reason: str, *, blocks: bool) -> None:
    job = tfjob()
    answer = explained(job, group(job), configured(text))
    names = {"A": "ActionMissing", "G": "GangMissing", "U": "Unreadable"}
    assert (names[reason], blocks) in [(item.reason, item.blocks) for item in answer.findings]
