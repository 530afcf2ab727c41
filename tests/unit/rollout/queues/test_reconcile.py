"""What stands against the queues of an inventory, which were made here, and the whole way to what is wanted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.patches.volcano import configure_scheduling
from kubeflow_volcano.rollout.queues import drain
from kubeflow_volcano.rollout.queues import reconcile as queues
from kubeflow_volcano.rollout.queues import transitions as queue_moves
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES
from kubeflow_volcano.rollout.queues.reconcile import reconcile_queues, record_created_queues, validate_queues
from kubeflow_volcano.rollout.queues.view import API
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings
from tests.unit.rollout.queues.queue_stand import Run, Store, Watch, group, queue


@pytest.fixture(autouse=True)
def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "Observer", Watch)
    monkeypatch.setattr(queue_moves, "Observer", Watch)


def asked(*items: dict[str, Any]) -> SchedulingSettings:
    return SchedulingSettings(queues=items, drain_seconds=0)


def refusals(store: Store, *items: dict[str, Any]) -> list[str]:
    objects: list[Object] = []
    settings = asked(*items)
    configure_scheduling(objects, settings)
    cluster: Any = store
    try:
        validate_queues(cluster, settings, objects)
    except InvalidInput as error:
        return [problem.found for problem in error.problems]
    return []


def settled(store: Store, *items: dict[str, Any], check: bool = False) -> Run:
    run: Any = Run(store, check=check)
    reconcile_queues(run, asked(*items), "1.10.0")
    found: Run = run
    return found


GONE = {"name": "a", "state": "absent"}


def test_a_queue_that_was_not_made_here_is_not_removed() -> None:
    store = Store()
    store.put(queue("a"))
    assert ["rollout-queues" in line for line in refusals(store, GONE)] == [True]
    store.made_here("a")
    assert refusals(store, GONE) == []
    store.objects["Queue", "", "a"]["metadata"]["uid"] = "made anew by somebody"
    assert len(refusals(store, GONE)) == 1


def test_a_queue_stays_while_another_one_is_part_of_it() -> None:
    store = Store()
    store.put(queue("a"), queue("b", parent="a"))
    store.made_here("a", "b")
    assert ["parent of b" in line for line in refusals(store, GONE)] == [True]
    assert refusals(store, GONE, {"name": "b", "parent": "a", "state": "absent"}) == []
    assert refusals(store, GONE, {"name": "b", "parent": "root"}) == []
    assert len(refusals(store, GONE, {"name": "b"})) == 1  # of what it is a part is not said, and stays


def test_a_queue_stays_while_a_namespace_sends_its_jobs_there() -> None:
    store = Store()
    annotations = {"scheduling.volcano.sh/queue-name": "a"}
    store.put(queue("a"), new_object("v1", "Namespace", "team-a", meta={"annotations": annotations}))
    store.made_here("a")
    assert ["1 namespace: team-a" in line for line in refusals(store, GONE)] == [True]


def test_what_is_not_there_is_absent_already() -> None:
    assert refusals(Store(), GONE) == []
    assert settled(Store(), GONE).told == []


def test_fields_of_a_closing_queue_are_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.put(queue("a", "Closing"))
    item = {"name": "a", "weight": 3, "state": "closed"}
    assert [bool(re.search("queue a .*Closing", line)) for line in refusals(store, item)] == [True]
    monkeypatch.setattr(queues, "is_up_to_date", lambda _declared, _live: True)
    assert refusals(store, item) == []
    monkeypatch.undo()
    store.put(queue("a", "Closed"))
    assert refusals(store, item) == []


def test_without_queues_in_the_inventory_nothing_is_asked() -> None:
    nobody: Any = None
    validate_queues(nobody, asked(), [])
    reconcile_queues(nobody, asked(), "1.10.0")


def test_queues_that_were_created_are_written_down_with_their_uid() -> None:
    store = Store()
    store.put(queue("new"), queue("old"))
    run: Any = Run(store)
    for name, action in (("new", Action.CREATED), ("old", Action.CHANGED)):
        run.add_outcome(ObjectOutcome(Ref(API, "Queue", "", name), action, None, None))
    record_created_queues(run)
    assert store.objects["ConfigMap", CREATED_QUEUES.namespace, CREATED_QUEUES.name]["data"] == {"new": "uid-new"}


def test_the_whole_way_and_a_second_run_changes_nothing() -> None:
    store = Store()
    store.put(queue("a"), queue("b", "Closed"), queue("c"), group("g", "c"))
    store.made_here("a")
    items = (GONE, {"name": "b"}, {"name": "c", "state": "closed"})
    first = settled(store, *items)
    assert first.told == [
        ("changed", "b", "Closed", "Open"),
        ("changed", "a", "Open", "Closed"),
        ("changed", "c", "Open", "Closing"),
        ("removed", "a", "Closed", None),
    ]
    assert (first.problems, first.warnings) == ([], [])
    again = settled(store, *items)
    assert (again.told, again.problems, again.warnings) == ([], [], [])


def test_check_mode_says_the_same_and_changes_nothing() -> None:
    store = Store()
    store.put(queue("a"), queue("b", "Closed"))
    store.made_here("a")
    run = settled(store, GONE, {"name": "b"}, {"name": "new", "state": "closed"}, check=True)
    assert run.told == [
        ("changed", "b", "Closed", "Open"),
        ("changed", "a", "Open", "Closed"),
        ("changed", "new", "Open", "Closed"),
        ("removed", "a", "Closed", None),
    ]
    assert (store.state("a"), store.state("b"), store.commands) == ("Open", "Closed", [])


def test_a_refused_request_is_a_problem_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Object:
        raise ApiError(403, "Forbidden", "commands is forbidden")

    store: Any = Store()
    store.origin = "here"
    store.put(queue("a"))
    monkeypatch.setattr(store, "create", refuse)
    assert "commands is forbidden" in settled(store, {"name": "a", "state": "closed"}).problems[0].found
