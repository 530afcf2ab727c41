"""Who is to place the pods."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from tests.samples.jobs import configured, explained, group, healthy, member, reasons, tfjob, vcjob


def changed(name: str, **rest: object) -> Object:
    found = next(item for item in healthy() if item["metadata"]["name"] == name)
    return found | rest


def test_volcano_s_scheduler_must_be_there_before_pods_are_made() -> None:
    job = tfjob()
    assert reasons(explained(job, group(job, phase=""), without=["volcano-scheduler"])) == ["SchedulerMissing"]
    down = changed("volcano-scheduler", status={"observedGeneration": 1, "unavailableReplicas": 1})
    assert reasons(explained(job, group(job, phase=""), down)) == ["SchedulerDown"]


def test_a_scheduler_that_answers_to_another_name_is_named_with_its_flag() -> None:
    pods = {"spec": {"containers": [{"name": "s", "image": "vc-scheduler:v1.10.0", "args": ["--scheduler-name=vc"]}]}}
    other = changed("volcano-scheduler", spec={"replicas": 1, "template": pods})
    job = tfjob()
    assert reasons(explained(job, group(job, phase=""), other)) == ["OtherName"]


def test_volcano_is_judged_where_others_put_it() -> None:
    place = Ref("apps/v1", "Deployment", "kube-system", "gangs-scheduler")

    def moved(name: str, to: str, **rest: object) -> Object:
        found = changed(name, **rest)
        return found | {"metadata": found["metadata"] | {"namespace": "kube-system", "name": to}}

    job = tfjob()
    missing = explained(job, group(job, phase=""), scheduler=place)
    assert reasons(missing) == ["SchedulerMissing"]
    assert "kube-system/gangs-scheduler" in missing.findings[0].problem.found
    conf = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: predicates}, {name: proportion}]"
    there = [
        moved("volcano-scheduler", "gangs-scheduler"),
        moved("volcano-scheduler-configmap", "volcano-scheduler-configmap", data={"volcano-scheduler.conf": conf}),
    ]
    assert "GangMissing" in [item.reason for item in explained(job, group(job), *there, scheduler=place).findings]

    of_volcano = vcjob()
    gone = explained(of_volcano, *there, scheduler=place)
    assert any("kube-system/gangs-controllers" in item.problem.found for item in gone.findings)


def test_a_scheduler_of_a_name_that_nobody_has() -> None:
    job = tfjob(workers=1)
    pod = member(job, 0, spec={"schedulerName": "kube-batch"})
    answer = explained(job, pod, without=["training-operator"])
    assert "SchedulerUnknown" in reasons(answer)


@pytest.mark.parametrize(
    ("name", "marks", "detail"),
    [
        ("kai-scheduler", {"labels": {"kai.scheduler/queue": "q"}}, "kai.scheduler/queue: q"),
        ("kai-scheduler", {"labels": {"runai/queue": "q"}}, "runai/queue: q"),
        ("koord-scheduler", {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}}, "koordinator.sh/name: g"),
        ("koord-scheduler", {}, "it has none of its marks"),
    ],
)
def test_gang_schedulers_of_others_are_named(name: str, marks: Object, detail: str) -> None:
    job = tfjob(workers=1)
    silent = member(job, 0, spec={"schedulerName": name}, metadata={"annotations": {}, **marks})
    told = {"type": "PodScheduled", "status": "False", "message": "queue is over its quota"}
    for pod, words in ((silent, "nothing has handled it"), ({**silent, "status": {"conditions": [told]}}, "over its")):
        answer = explained(job, pod, without=["training-operator"])
        found = next(item for item in answer.findings if item.reason == "SchedulerOfOthers")
        assert words in found.problem.found
        assert detail in found.details[0]
        assert "SchedulerUnknown" not in reasons(answer)


def test_members_for_another_scheduler_are_no_gang() -> None:
    job = tfjob()
    pods = [member(job, 0, spec={"schedulerName": "default-scheduler"}, on="n1"), member(job, 1)]
    answer = explained(job, group(job, phase="Inqueue"), *pods)
    assert next((item.reason, item.blocks) for item in answer.findings) == ("OtherScheduler", False)
    for word in ("1 of 2 pods", "default-scheduler"):
        assert word in answer.findings[0].problem.found


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
