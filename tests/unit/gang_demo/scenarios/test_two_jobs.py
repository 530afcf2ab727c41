"""When two jobs are deadlocked, and when they came one after the other: on watch histories written by hand."""

from __future__ import annotations

import re

import pytest

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.gang_demo.jobs.gangs import LONGEST_IN_PART
from kubeflow_volcano.gang_demo.jobs.jobs import SUCCEED_AFTER
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.scenarios.two_jobs import KINDS, are_deadlocked, find_overlap, have_ended, manifest
from tests.samples.histories import deleted, group, history, later, pod, seen


def workers(job: str, bound: int, *, judged: bool = True, phase: str = "", scheduler: str = "volcano") -> list[Object]:
    return [
        pod(
            f"{job}-{i}",
            job=job,
            node=f"gpu-{i}" if i < bound else "",
            judged=judged and i >= bound,
            phase=phase,
            scheduler=scheduler,
        )
        for i in range(4)
    ]


def of(*lists: list[Object], onto: History | None = None) -> History:
    items = [item for found in lists for item in found]
    return seen(onto, *items) if onto else history(*items)


@pytest.mark.parametrize(("first", "second"), [(1, 3), (2, 2), (3, 1)])
def test_each_holding_some_and_none_whole_is_a_deadlock(first: int, second: int) -> None:
    assert are_deadlocked(of(workers("first", first), workers("second", second)))


@pytest.mark.parametrize(("first", "second"), [(4, 0), (0, 4), (2, 1)])
def test_a_whole_job_or_a_free_gpu_is_none(first: int, second: int) -> None:
    assert not are_deadlocked(of(workers("first", first), workers("second", second)))


def test_while_somebody_was_not_judged_it_may_still_change() -> None:
    assert not are_deadlocked(of(workers("first", 2), workers("second", 2, judged=False)))


def test_a_history_without_anything_shows_nothing() -> None:
    assert not are_deadlocked(history())
    assert not have_ended(history())


def test_both_jobs_have_ended_only_when_each_was_a_gang() -> None:
    found = of(*(workers(name, 4, phase="Succeeded") for name in KINDS))
    done = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    for name, kind in KINDS.items():
        seen(found, new_object("kubeflow.org/v1", kind, name, "n", status=done))

    assert not have_ended(found), "no PodGroup was seen"
    groups = [group("Running", 4, name=name) for name in KINDS]
    assert have_ended(deleted(seen(found, *groups), *groups)), "the operator removes it at the end"


def test_one_whole_job_after_the_end_of_the_other_is_as_claimed() -> None:
    found = of(workers("first", 4), workers("second", 0))
    of(workers("first", 4, phase="Succeeded"), onto=found)
    of(workers("second", 4), onto=found)

    assert find_overlap(found) == ""


def test_a_job_that_begins_while_the_other_still_holds_a_gpu_is_not_forgotten() -> None:
    found = of(workers("first", 4), workers("second", 1))
    of(workers("first", 4, phase="Succeeded"), onto=found)
    of(workers("second", 4, phase="Succeeded"), onto=found)

    assert "same time" in find_overlap(found)


def test_a_job_that_ends_worker_by_worker_is_as_claimed() -> None:
    found = of(workers("first", 4), workers("second", 0))
    of(workers("first", 4, phase="Succeeded")[:2], onto=found)

    assert find_overlap(later(found, LONGEST_IN_PART + 1)) == ""


def test_a_job_that_stays_in_part_contradicts_it() -> None:
    found = of(workers("first", 3), workers("second", 0))

    assert find_overlap(found) == ""
    assert re.search("first .*4 pods", find_overlap(later(found, LONGEST_IN_PART + 1)))


def test_pods_of_another_scheduler_contradict_it() -> None:
    found = of(workers("first", 4, scheduler="default-scheduler"))

    assert "default-scheduler" in find_overlap(found)


def test_the_gang_run_is_the_same_jobs_with_an_end() -> None:
    def ends(lasts: str) -> list[object]:
        roles = [roles_of(item)["Worker"] for item in manifest("n", lasts)]
        return [role["template"]["metadata"]["annotations"].get(SUCCEED_AFTER) for role in roles]

    def roles_of(item: Object) -> Object:
        found: Object = next(value for key, value in item["spec"].items() if key.endswith("ReplicaSpecs"))
        return found

    assert [item["kind"] for item in manifest("n")] == ["TFJob", "PyTorchJob"]
    assert (ends(""), ends("4s")) == ([None, None], ["4s", "4s"])
