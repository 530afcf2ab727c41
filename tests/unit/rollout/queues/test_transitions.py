"""Queues are opened and closed by Commands, those above before those below and the other way round."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.rollout.queues import transitions as queue_moves
from kubeflow_volcano.rollout.queues.transitions import plan_transitions, transition_queue
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from tests.unit.rollout.queues.queue_stand import Run, Store, Watch, group, queue

TREE = ({"name": "org"}, {"name": "team", "parent": "org"}, {"name": "deep", "parent": "team"})


@pytest.fixture(autouse=True)
def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_moves, "Observer", Watch)


def planned(state: str, live_state: str) -> list[tuple[str, str]]:
    asked = tuple({**item, "state": state} for item in TREE)
    live = {str(item["name"]): queue(str(item["name"]), live_state) for item in TREE}
    return [
        (name, str(to))
        for name, to in plan_transitions(live, wanted_states(asked), {str(item["name"]): item for item in asked})
    ]


def test_those_above_are_opened_first_and_those_below_closed_first() -> None:
    assert planned("open", "Closed") == [("org", "open"), ("team", "open"), ("deep", "open")]
    assert planned("closed", "Open") == [("deep", "closed"), ("team", "closed"), ("org", "closed")]
    assert planned("absent", "Unknown") == [("deep", "closed"), ("team", "closed"), ("org", "closed")]


@pytest.mark.parametrize(("state", "live"), [("open", "Open"), ("closed", "Closed"), ("closed", "Closing")])
def test_what_is_so_already_is_left_alone(state: str, live: str) -> None:
    assert planned(state, live) == []


def test_a_queue_that_is_not_there_is_closed_once_it_is_made_but_never_made_to_go() -> None:
    asked = ({"name": "a", "state": "closed"}, {"name": "b", "state": "absent"})
    found = plan_transitions({}, wanted_states(asked), {str(item["name"]): item for item in asked})
    assert found == [("a", QueueState.CLOSED)]


def moved(store: Store, name: str, state: QueueState, version: str = "1.10.0", **more: Any) -> Run:
    run: Any = Run(store, **more)
    run.done = transition_queue(run, store.objects["Queue", "", name], state, version)
    found: Run = run
    return found


def test_a_command_closes_a_queue_and_its_jobs_stay() -> None:
    store = Store()
    store.put(queue("a"), group("g", "a"))
    run = moved(store, "a", QueueState.CLOSED)
    assert (store.state("a"), run.told) == ("Closing", [("changed", "a", "Open", "Closing")])
    (command,) = store.commands
    assert command["action"] == "CloseQueue"
    assert command["target"]["uid"] == "uid-a"
    assert command["metadata"]["ownerReferences"] == [command["target"]]
    assert command["metadata"]["namespace"] == "kubeflow-volcano"


def test_a_command_opens_it_again() -> None:
    store = Store()
    store.put(queue("a", "Closed"))
    assert moved(store, "a", QueueState.OPEN).told == [("changed", "a", "Closed", "Open")]
    assert [item["action"] for item in store.commands] == ["OpenQueue"]


@pytest.mark.parametrize(("version", "commands"), [("1.8.2", 0), ("1.10.2", 0), ("1.11.0", 1), ("1.15.1", 1)])
def test_one_that_is_closing_is_opened_past_the_webhook_where_the_controllers_cannot(
    version: str, commands: int
) -> None:
    store = Store()
    store.put(queue("a", "Closing"), group("g", "a"))
    moved(store, "a", QueueState.OPEN, version)
    assert (store.state("a"), len(store.commands)) == ("Open", commands)


def test_check_mode_notes_it_and_asks_nobody() -> None:
    store = Store()
    store.put(queue("a"))
    run = moved(store, "a", QueueState.CLOSED, check=True)
    assert (store.state("a"), store.commands, run.told) == ("Open", [], [("changed", "a", "Open", "Closed")])


def test_a_command_that_nobody_takes_is_taken_back_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_moves, "_ANSWER_SECONDS", 0.05)
    store = Store(controllers=False)
    store.put(queue("a"))
    run = moved(store, "a", QueueState.CLOSED)
    assert not store.take("Command", "made", "kubeflow-volcano")
    (problem,) = run.problems
    assert "a is Open" in problem.found
    assert "the Command" in problem.found
    assert run.outcomes == []


def test_one_that_somebody_deletes_meanwhile_is_not_called_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_moves, "_ANSWER_SECONDS", 0.05)
    store = Store(controllers=False)
    store.put(queue("a"))
    store.later = [lambda: store.take("Queue", "a")]
    assert "queue a " in moved(store, "a", QueueState.CLOSED).problems[0].found
