"""A closed queue goes when it is empty, and never before."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.rollout.queues import drain as drain_module
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES, drain
from kubeflow_volcano.rollout.queues.view import QueueView
from tests.unit.rollout.queues.queue_stand import Run, Store, Watch, group, queue


@pytest.fixture(autouse=True)
def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain_module, "Observer", Watch)


def drained(store: Store, *names: str, seconds: float = 5, version: str = "1.10.0", check: bool = False) -> Run:
    run: Any = Run(store, check=check)
    store.made_here(*names)
    drain(run, {name: f"uid-{name}" for name in names}, seconds, version)
    found: Run = run
    return found


def test_an_empty_queue_goes_and_is_forgotten() -> None:
    store = Store()
    store.put(queue("a", "Closed"))
    run = drained(store, "a", seconds=0)
    assert run.told == [("removed", "a", "Closed", None)]
    assert not store.take("Queue", "a")
    assert store.objects["ConfigMap", CREATED_QUEUES.namespace, CREATED_QUEUES.name]["data"] == {}


def test_its_job_is_waited_for_and_told() -> None:
    store = Store()
    store.put(queue("a", "Closing"), group("g", "a", owner="mnist"))
    store.later = [lambda: None, lambda: store.end("g", "a")]
    run = drained(store, "a")
    assert run.told == [("removed", "a", "Closed", None)]
    assert run.warnings == []
    assert any(re.search(r"queue a .*TFJob team-a/mnist \(Running\)", line) for line in run.lines)


@pytest.mark.parametrize(("version", "stuck"), [("1.11.2", False), ("1.12.0", True)])
def test_a_job_that_does_not_end_in_time_keeps_its_queue_and_is_warned_of(version: str, stuck: bool) -> None:  # noqa: FBT001  a column of the table
    store = Store()
    store.put(queue("a", "Closing"), *(group(f"g{number}", "a") for number in range(7)))
    run = drained(store, "a", seconds=0, version=version)
    (warning,) = run.warnings
    assert re.search(r"queue a .*7 jobs: PodGroup team-a/g0 \(Running\)", warning.found)
    assert "and 2 more" in warning.found
    assert ("do not start" in warning.found) is stuck
    assert (run.told, run.problems, store.state("a")) == ([], [], "Closing")


def test_a_job_that_slips_in_between_the_watch_and_the_deletion_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.put(queue("a", "Closed"))
    empty = QueueView.is_drained

    def seen(view: Any, name: str) -> bool:
        found = empty(view, name)
        store.put(group("late", "a"))
        return found

    monkeypatch.setattr(QueueView, "is_drained", seen)
    run = drained(store, "a", seconds=0)
    assert store.state("a") == "Closed"
    assert "PodGroup team-a/late" in run.warnings[0].found


def test_what_is_part_of_a_queue_goes_first() -> None:
    store = Store()
    store.put(queue("org", "Closed"), queue("team", "Closed", parent="org"))
    assert drained(store, "org", "team", seconds=0).told == [
        ("removed", "team", "Closed", None),
        ("removed", "org", "Closed", None),
    ]


def test_a_refusal_of_volcano_s_webhook_is_met_by_another_try() -> None:
    store = Store(refusals=["queue a can not be deleted because it has 1 child queues: gone"])
    store.put(queue("a", "Closed"))
    run = drained(store, "a")
    assert run.told == [("removed", "a", "Closed", None)]
    assert "not deleted yet" in run.lines[0]


def test_another_queue_of_the_name_is_not_touched() -> None:
    store = Store()
    store.put(queue("a", "Closed"))
    store.objects["Queue", "", "a"]["metadata"]["uid"] = "another"
    run = drained(store, "a", seconds=0)
    assert (store.state("a"), run.told, len(run.warnings)) == ("Closed", [], 1)


def test_one_that_is_opened_while_it_is_deleted_stays_and_is_not_told_as_removed() -> None:
    store = Store()
    store.put(queue("a", "Closed"))
    store.meanwhile = [lambda: store.changed("a", "Open")]
    run = drained(store, "a", seconds=0)
    assert (store.state("a"), run.told) == ("Open", [])
    assert re.search("queue a .*is Open", run.warnings[0].found)
    assert store.objects["ConfigMap", CREATED_QUEUES.namespace, CREATED_QUEUES.name]["data"] == {"a": "uid-a"}


def test_one_whose_status_is_counted_anew_meanwhile_goes_all_the_same() -> None:
    store = Store()
    store.put(queue("a", "Closed"))
    store.meanwhile = [lambda: store.changed("a", "Closed")] * 2
    assert drained(store, "a", seconds=0).told == [("removed", "a", "Closed", None)]


def test_one_that_somebody_else_deletes_is_no_longer_waited_for() -> None:
    store = Store()
    store.put(queue("a", "Closing"), group("g", "a"))
    store.later = [lambda: store.take("Queue", "a")]
    run = drained(store, "a", seconds=3600)
    assert (run.told, run.warnings) == ([], [])
    assert store.objects["ConfigMap", CREATED_QUEUES.namespace, CREATED_QUEUES.name]["data"] == {}


def test_check_mode_says_what_would_go_and_what_would_be_waited_for() -> None:
    store = Store()
    store.put(queue("a"), queue("b"), group("g", "b"))
    run = drained(store, "a", "b", check=True)
    assert run.told == [("removed", "a", "Closed", None)]
    assert re.search("queue b .*1 job", run.warnings[0].found)
    assert store.state("a") == "Open"


def test_check_mode_keeps_what_a_busy_queue_is_part_of() -> None:
    store = Store()
    store.put(queue("org"), queue("team", parent="org"), queue("deep", parent="team"), group("g", "deep"))
    run = drained(store, "org", "team", "deep", check=True)
    assert run.told == []
    assert [warning.found.partition(" and has ")[2][:7] for warning in run.warnings] == [
        "1 job: ",
        "1 child",
        "1 child",
    ]


def test_a_run_that_lost_its_lock_stops() -> None:
    store = Store()
    store.put(queue("a", "Closing"), group("g", "a"))
    run: Any = Run(store)
    run.lost.set()
    drain(run, {"a": "uid-a"}, 3600, "1.10.0")
    assert run.told == []
