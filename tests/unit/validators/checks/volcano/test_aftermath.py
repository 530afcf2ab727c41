"""F7 to F9 on literal facts."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.volcano import aftermath
from kubeflow_volcano.validators.checks.volcano.aftermath import PREVIOUS_LOGS
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import facts, instant, judged, obj, pod, with_volcano

VOLCANO = ("volcano Deployment volcano-system/volcano-scheduler", "volcano Job volcano-system/volcano-admission-init")
POD = Ref("v1", "Pod", "volcano-system", "s")
PANIC = "I1 starting\npanic: failed init default queue, with err: webhook\n\ngoroutine 1 [running]:\n"


def scheduler(*, ready: bool = True) -> Object:
    container = {"name": "main", "ready": ready, "restartCount": 1, "state": {}}
    return pod("volcano-system/s", owner="volcano-scheduler", status={"containerStatuses": [container]})


def logged(text: str, *objects: Object) -> Facts:
    return facts(*(objects or (scheduler(),)), workloads=VOLCANO, known={PREVIOUS_LOGS: {(POD, "main"): text}})


def test_containers_that_ended_otherwise_or_never_pass() -> None:
    assert aftermath.no_start_panics(logged("F1 leaderelection lost\n")).objects == (POD,)
    assert aftermath.no_start_panics(facts(scheduler(), workloads=VOLCANO)).status is Status.PASS
    assert aftermath.no_start_panics(logged("no panic: fine")).status is Status.PASS


@pytest.mark.parametrize(("ready", "status"), [(True, Status.WARN), (False, Status.FAIL)])
def test_a_panic_is_a_warning_while_the_container_runs_again_and_else_a_failure(*, ready: bool, status: Status) -> None:
    outcome = aftermath.no_start_panics(logged(PANIC, scheduler(ready=ready)))
    assert (outcome.status, outcome.reason) == (status, "QueuePanic")
    assert "init default queue" in outcome.message
    assert outcome.commands == ("kubectl -n volcano-system logs s -c main --previous",)
    assert list(outcome.evidence.values()) == [PANIC]


def test_another_panic_is_told_as_such() -> None:
    outcome = aftermath.no_start_panics(logged("panic: runtime error: index out of range\n"))
    assert (outcome.status, outcome.reason) == (Status.WARN, "Panicked")


def test_the_pod_of_the_init_job_is_not_volcanos_life() -> None:
    done = pod("volcano-system/s", owner="Job/volcano-admission-init")
    assert aftermath.no_start_panics(logged(PANIC, done)).status is Status.SKIP


def test_logs_that_may_not_be_read_leave_the_question_open() -> None:
    found = facts(scheduler(), workloads=VOLCANO, known={PREVIOUS_LOGS: Unread("Forbidden", "no", "ask")})
    assert judged(aftermath.no_start_panics, found).status is Status.ERROR


def group(name: str = "a/g", phase: str = "Running", *, changed_ago: float = 900, **meta: Any) -> Object:
    condition = {"type": "Unschedulable", "status": "True", "lastTransitionTime": instant(changed_ago)}
    spec = {"minMember": 20, "queue": "default", "minResources": {"nvidia.com/gpu": "4", "cpu": "8"}}
    return obj("PodGroup", name, metadata=meta, spec=spec, status={"phase": phase, "conditions": [condition]})


def member(name: str, phase: str = "Running", *, ended_ago: float | None = None, of: str = "g") -> Object:
    ended = {"state": {"terminated": {"finishedAt": instant(ended_ago)}}} if ended_ago is not None else {}
    annotations = {"scheduling.k8s.io/group-name": of}
    return pod(name, metadata={"annotations": annotations}, status={"phase": phase, "containerStatuses": [ended]})


WELL = {
    "a live pod": (group(), member("a/p")),
    "a pod that waits": (group(phase="Inqueue"), member("a/p", "Pending")),
    "changed a moment ago": (group(changed_ago=500),),
    "ended a moment ago": (group(), member("a/p", "Succeeded", ended_ago=500)),
    "completed": (group(phase="Completed"),),
    "pending": (group(phase="Pending"),),
}


@pytest.mark.parametrize("objects", WELL.values(), ids=WELL)
def test_groups_with_work_or_without_a_claim_are_not_stale(objects: tuple[Object, ...]) -> None:
    assert aftermath.no_stale_podgroups(with_volcano(*objects)).status is Status.PASS


STALE = {
    "no pod at all": (group(),),
    "queued": (group(phase="Inqueue"),),
    "all have ended": (group(), member("a/p", "Succeeded", ended_ago=900), member("a/q", "Failed", ended_ago=800)),
    "pods of another namespace": (group(), member("b/p")),
    "pods of another group": (group(), member("a/p", of="h")),
}


@pytest.mark.parametrize("objects", STALE.values(), ids=STALE)
def test_groups_that_hold_resources_for_nobody_are_a_warning(objects: tuple[Object, ...]) -> None:
    outcome = aftermath.no_stale_podgroups(with_volcano(*objects))
    assert (outcome.status, outcome.reason) == (Status.WARN, "StalePodGroups")
    assert "requests cpu 8, nvidia.com/gpu 4" in outcome.message
    assert [str(ref.name) for ref in outcome.objects] == ["g"]


def test_what_is_listed_is_cut_and_what_is_meant_is_not() -> None:
    outcome = aftermath.no_stale_podgroups(with_volcano(*(group(f"a/g{number}") for number in range(9))))
    assert ("and 4 more" in outcome.message, len(outcome.objects)) == (True, 9)


def test_a_gang_in_pieces_is_a_warning_when_it_stays_so() -> None:
    running = [member(f"a/p{number}") for number in range(8)]
    outcome = aftermath.no_broken_gangs(with_volcano(group(phase="Unknown"), *running))
    assert (outcome.status, outcome.reason) == (Status.WARN, "BrokenGangs")
    assert "8 of 20 members run" in outcome.message
    assert (
        aftermath.no_broken_gangs(with_volcano(group(phase="Unknown", changed_ago=30), *running)).status is Status.PASS
    )
    assert aftermath.no_broken_gangs(with_volcano(group(), *running)).status is Status.PASS


@pytest.mark.parametrize("check", [aftermath.no_stale_podgroups, aftermath.no_broken_gangs])
def test_without_groups_there_is_nothing_to_say_and_those_of_probes_do_not_count(check: Check) -> None:
    assert judged(check, with_volcano()).reason == "NoPodGroups"
    assert judged(check, with_volcano(group(labels={RUN_LABEL: "x"}))).reason == "NoPodGroups"
    unread = {"podgroups.scheduling.volcano.sh": Unread("Forbidden", "no", "ask")}
    assert judged(check, with_volcano(unread=unread)).status is Status.ERROR
