"""When a gang stands whole, when it is held back, and what contradicts it: on watch histories written by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.gangs import LONGEST_IN_PART, Gang, are_refused_for_gpus, find_gang
from kubeflow_volcano.gang_demo.play.history import History
from tests.samples.histories import deleted, group, history, later, pod, seen


def member(number: int, **how: Any) -> Object:
    return pod(f"j-worker-{number}", job="j", **how)


def placed(*numbers: int) -> list[Object]:
    return [member(number, node="x") for number in numbers]


def refused(*numbers: int) -> list[Object]:
    return [member(number, judged=True) for number in numbers]


def grouped(phase: str = "Inqueue", minimum: int = 3, **how: Any) -> Object:
    return group(phase, minimum, name="j", **how)


def gang(record: History, minimum: int = 3) -> Gang:
    return Gang(record, "j", 3, minimum)


class TestWhole:
    """All hold nodes."""

    def test_when_all_do_by_the_word_of_their_group(self) -> None:
        assert gang(history(grouped("Running"), *placed(0, 1, 2))).is_whole()

    @pytest.mark.parametrize(
        "objects",
        [
            (),
            (grouped("Running"), *placed(0, 1), member(2)),
            placed(0, 1, 2),
            (group("Running", 3, name="other"), *placed(0, 1, 2)),
            (grouped("Running", 1), *placed(0, 1, 2)),
        ],
        ids=["nothing was seen", "one has none", "no group", "the group of another job", "a smaller group"],
    )
    def test_else_not(self, objects: list[Object]) -> None:
        assert not gang(history(*objects)).is_whole()

    def test_pods_that_are_gone_do_not_count(self) -> None:
        record = history(grouped("Running"), *placed(0, 1, 2), *refused(3))

        assert not gang(deleted(record, *placed(2))).is_whole()

    def test_a_gang_smaller_than_its_job_may_be_there_while_others_wait(self) -> None:
        record = history(grouped("Running", 2), *placed(0, 1), *refused(2))

        assert gang(record, 2).is_placed(2)
        assert not gang(record, 2).is_whole()
        assert not gang(history(grouped("Running", 2), *placed(0, 1), member(2)), 2).is_placed(2), "nobody refused it"


class TestWithheld:
    """Nobody has a node, because Volcano says so."""

    def test_when_the_group_and_each_pod_were_judged(self) -> None:
        assert gang(history(grouped(), *refused(0, 1, 2))).is_withheld()

    def test_there_may_be_no_pods_of_a_group_that_is_not_admitted(self) -> None:
        assert gang(history(grouped("Pending"))).is_withheld()

    def test_each_pod_tells_it_where_the_scheduler_writes_nothing_into_groups(self) -> None:
        some = history(grouped("Pending", judged=False), *refused(0, 1), member(2), gang=SCHEDULER_PLUGINS)
        assert not gang(some).is_withheld()
        assert gang(seen(some, *refused(2))).is_withheld()

    @pytest.mark.parametrize(
        "objects",
        [
            (),
            refused(0, 1, 2),
            (grouped(),),
            (grouped("Pending", judged=False),),
            (grouped(judged=False), *refused(0, 1, 2)),
            (grouped(), *refused(0, 1), member(2)),
            (grouped(minimum=1), *refused(0, 1, 2)),
            (grouped(), *refused(0, 1), *placed(2)),
        ],
        ids=[
            "nothing was seen",
            "no group",
            "no pods of an admitted group",
            "a group that nobody judged",
            "an admitted group that nobody judged",
            "a pod that nobody judged",
            "a smaller group",
            "a pod has a node",
        ],
    )
    def test_else_not(self, objects: list[Object]) -> None:
        assert not gang(history(*objects)).is_withheld()


class TestContradicted:
    """What shows that there is no such gang."""

    def test_nothing_while_it_waits_and_while_it_starts(self) -> None:
        assert gang(history(grouped(), *refused(0, 1, 2))).find_contradiction(0) == ""
        assert gang(later(history(grouped(), *placed(0, 1)), LONGEST_IN_PART)).find_contradiction(3) == ""

    def test_a_pod_that_had_a_node_for_a_moment_is_not_forgotten(self) -> None:
        record = deleted(history(grouped(), *placed(0)), *placed(0))

        assert gang(record).find_contradiction(0).startswith("1 of 3 pods ")

    def test_a_group_of_another_size(self) -> None:
        assert "minMember 1 instead" in gang(history(grouped(minimum=1))).find_contradiction(3)

    def test_pods_of_another_scheduler(self) -> None:
        record = history(member(0, scheduler="default-scheduler"))

        assert "scheduler default-scheduler" in gang(record).find_contradiction(3)

    def test_a_gang_that_stays_in_part(self) -> None:
        record = later(history(grouped("Running"), *placed(0, 1)), 10)

        assert re.match(r"j .*3 pods .*10\.0 s", gang(record).find_contradiction(3))
        assert gang(later(history(grouped("Running", 2), *placed(0, 1)), 10), 2).find_contradiction(3) == ""


class TestWithoutGang:
    """Controls: pods are taken one by one, for lack of nothing but GPUs."""

    def test_a_group_contradicts_it_also_when_it_has_gone(self) -> None:
        assert "is off" in find_gang(history(grouped()))
        assert "is off" in find_gang(deleted(history(grouped()), grouped()))

    def test_pods_of_a_gang_scheduler_contradict_it(self) -> None:
        assert find_gang(history(member(0))).endswith("scheduler volcano")
        assert find_gang(history(member(0, scheduler="default-scheduler"))) == ""

    def test_who_waits_for_another_reason_shows_nothing(self) -> None:
        other = member(1, judged=True, message="0/2 nodes are available: 2 node(s) had untolerated taint.")
        record = history(*placed(0), *refused(2))

        assert are_refused_for_gpus(record.present)
        assert not are_refused_for_gpus(history(*placed(0), other).present)
        assert not are_refused_for_gpus(history(*placed(0), member(1)).present), "nobody judged it"
