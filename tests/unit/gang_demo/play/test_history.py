"""What a case makes of what it saw: who held nodes when, of which job, and whether it can be judged at all."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.gang_demo.play.history import JOB_NAME, VCJOB_NAME, History
from tests.samples.histories import deleted, group, history, later, pod, seen

PODS = Subject("v1", "Pod", "n")


def member(name: str, **more: Any) -> Object:
    return pod(name, labels={VCJOB_NAME: name.rsplit("-", 2)[0]}, **more)


def listed(record: History, *pods: Object) -> History:
    record.take(Change(PODS, "RESET", pods, record.known_until))
    return record


class TestHistory:
    """Who held a node at one time."""

    def test_a_pod_that_ended_holds_nothing_and_the_next_may(self) -> None:
        found = seen(history(pod("a", node="n")), pod("a", node="n", phase="Succeeded"), pod("b", node="n"))

        assert [item.holders for item in found.holdings] == [{"a"}, set(), {"b"}]
        assert found.states[-1] == ("a", "b")
        assert found.most_bound() == 2

    def test_the_table_has_what_is_there(self) -> None:
        found = deleted(history(pod("a", node="n"), pod("b", judged=True), pod("c"), group("Inqueue", 3)), pod("c"))

        assert found.rows() == (("a", "Running", "n"), ("b", "Unschedulable", "-"))
        assert found.lines() == ("PodGroup Inqueue, MINMEMBER 3", "  NotEnoughResources")

    def test_groups_have_their_names_where_there_are_several(self) -> None:
        uid = "5f5ed293-2961-4068-9f0c-69267cdc0c3f"
        found = history(group("Running", 2, name="a", judged=False), group("Pending", 2, name=f"b-{uid}", judged=False))

        assert found.lines() == ("PodGroup a: Running, MINMEMBER 2", "PodGroup b: Pending, MINMEMBER 2")
        assert [item["name"] for item in found.events()] == ["a", "b"]

    def test_further_kinds_are_kept_with_every_state(self) -> None:
        states = [
            {"apiVersion": "v1", "kind": "TFJob", "metadata": {"name": "j"}, "status": {"conditions": [{"type": text}]}}
            for text in ("Created", "Succeeded")
        ]

        assert history(*states).objects == {"TFJob/j": states}

    def test_a_new_attempt_forgets_what_went(self) -> None:
        found = deleted(history(pod("a", node="n")), pod("a", node="n"))
        found.begin()

        assert (found.members, found.holdings, found.states, found.timeline) == ({}, [], [], [])


class TestJobs:
    """Pods of a job, by its label."""

    def test_of_either_kind_of_operator_and_not_by_the_beginning_of_names(self) -> None:
        found = history(
            pod("low-worker-0", node="x", labels={JOB_NAME: "low"}),
            pod("low-worker-1", node="x", labels={VCJOB_NAME: "low"}),
            pod("low-worker-2", node="x"),
            pod("low-er-worker-0", node="x", labels={JOB_NAME: "low-er"}),
        )

        assert [item.name for item in found.members_of("low")] == ["low-worker-0", "low-worker-1"]
        assert (found.placed("low"), found.placed("low", "low-er"), found.placed()) == (2, 3, 0)

    def test_those_that_ended_hold_nothing(self) -> None:
        assert history(member("low-worker-0", node="x", phase="Succeeded")).placed("low") == 0

    def test_the_most_of_any_moment(self) -> None:
        first = member("a-1-worker-0", node="x")
        found = seen(deleted(history(first, member("a-2-worker-0", node="x")), first), member("b-1-worker-0", node="x"))

        assert (found.most_held("a-1", "a-2"), found.placed("a-1", "a-2"), found.most_held("b-1")) == (2, 1, 1)

    def test_it_runs_when_every_pod_that_is_there_does(self) -> None:
        one, two = member("low-worker-0", node="x"), member("low-worker-1", node="y")

        assert history(one, two).is_running("low", 2)
        assert not history(one).is_running("low", 2)
        assert not history(one, member("low-worker-1")).is_running("low", 2)
        assert not deleted(history(one, two), two).is_running("low", 2)

    def test_it_waits_when_a_scheduler_refused_each(self) -> None:
        first, second = (member(f"low-worker-{number}", judged=True) for number in range(2))

        assert history(first, second).is_waiting("low", 2)
        assert not history(first).is_waiting("low", 2)
        assert not history(first, member("low-worker-1")).is_waiting("low", 2)
        assert not history(first, member("low-worker-1", judged=True, node="x")).is_waiting("low", 2)

    def test_it_is_decided_when_each_has_a_node_or_was_refused(self) -> None:
        first, second = member("low-worker-0", node="x"), member("low-worker-1", judged=True)

        assert history(first, second).is_decided("low", 2)
        assert not history(first, member("low-worker-1")).is_decided("low", 2)
        assert not deleted(history(first, second), first).is_decided("low", 2)


class TestInPart:
    """How long a job was on nodes in part."""

    def placed(self, *numbers: int, apart: float = 0.0) -> History:
        record = history()
        for number in numbers:
            seen(later(record, apart), member(f"low-worker-{number}", node="x"))
        return record

    def test_from_the_first_pod_to_the_last(self) -> None:
        assert later(self.placed(0, 1, 2, apart=2.5), 100).in_part("low", 3) == 5.0

    def test_what_lasts_counts_until_now(self) -> None:
        assert later(self.placed(0), 8).in_part("low", 2) == 8.0

    def test_a_whole_gang_was_never_in_part_and_more_than_it_needs_are_none_either(self) -> None:
        assert later(self.placed(0, 1, 2), 8).in_part("low", 2) == 0.0

    def test_a_job_that_shrinks_counts_again(self) -> None:
        record = later(self.placed(0, 1, apart=1), 5)
        later(deleted(record, member("low-worker-0", node="x")), 7)

        assert record.in_part("low", 2) == 7.0

    def test_a_job_that_ends_pod_by_pod_is_not_in_part(self) -> None:
        record = later(self.placed(0, 1), 5)
        later(seen(record, member("low-worker-0", node="x", phase="Succeeded")), 7)

        assert record.in_part("low", 2) == 0.0

    def test_the_time_that_counts_is_that_of_the_news_and_not_of_their_reading(self) -> None:
        record = history()
        for number, at in enumerate((100.0, 100.2)):
            item = member(f"low-worker-{number}", node="x")
            record.take(Change(PODS, "ADDED", (item,), at))

        assert record.in_part("low", 2) == 0.2

    def test_time_passes_also_while_nothing_happens(self) -> None:
        record = History(None, "n", "", iter((None,)))  # type: ignore[arg-type]
        assert record.until(lambda: record.known_until > 0, 1)


class TestDoubt:
    """When nothing can be concluded."""

    GONE = member("low-worker-0", node="x")

    def test_not_of_a_whole_watch(self) -> None:
        assert listed(history(), self.GONE).find_doubt() == ""

    def test_a_watch_that_broke_off(self) -> None:
        assert "watch of Pods" in listed(listed(history()), self.GONE).find_doubt()

    def test_a_new_attempt_does_not_make_it_good(self) -> None:
        record = listed(listed(history()), self.GONE)
        record.begin()

        assert record.find_doubt()

    @pytest.mark.parametrize("other", [pod("notebook", node="x"), GONE], ids=["of no job", "of a job"])
    def test_a_pod_that_somebody_else_deleted(self, other: Object) -> None:
        record = deleted(history(other, member("low-worker-1", node="x")), other)

        assert re.match(f"pod {other['metadata']['name']} .* from outside: deleted", record.find_doubt())

    def test_not_one_that_the_case_removed_nor_those_that_go_with_it(self) -> None:
        second = member("low-worker-1", node="x")
        record = history(self.GONE, second)
        record.dismiss(record.members["low-worker-0"])

        assert deleted(record, self.GONE, second).find_doubt() == ""

    @pytest.mark.parametrize(
        "mark",
        [
            {"type": "Ready", "status": "False", "reason": "Evict"},
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
        ],
        ids=["Volcano", "default scheduler"],
    )
    def test_not_one_that_a_scheduler_evicted_nor_those_that_go_with_it(self, mark: Object) -> None:
        evicted, second = member("low-worker-0", node="x"), member("low-worker-1", node="x")
        marked = evicted | {"status": {"phase": "Running", "conditions": [mark]}}
        record = seen(history(evicted, second), marked)

        assert deleted(record, marked, second).find_doubt() == ""

    def test_a_drain_is_another_hand(self) -> None:
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        drained = self.GONE | {"status": {"phase": "Running", "conditions": [mark]}}

        assert "from outside" in history(drained).find_doubt()

    def test_not_one_on_whose_node_somebody_is_to_come(self) -> None:
        urgent = member("urgent-worker-0", judged=True)
        urgent["status"]["nominatedNodeName"] = "x"

        assert deleted(history(self.GONE, urgent), self.GONE).find_doubt() == ""

    def test_not_one_that_had_ended(self) -> None:
        ended = member("low-worker-0", node="x", phase="Succeeded")

        assert deleted(history(ended), ended).find_doubt() == ""
