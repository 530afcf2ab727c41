"""Which queues of the inventory are open, closed or absent, and what does not go together."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.queue_states import ancestors, validate_states, wanted_states
from kubeflow_volcano.rollout.settings.settings import parse

ORG = {"name": "org", "state": "closed"}
TEAM = {"name": "team", "parent": "org"}


def found(*queues: dict[str, Any]) -> list[str]:
    return [problem.found for problem in validate_states(queues)]


def test_a_queue_of_which_nothing_is_said_is_open_but_below_a_closed_one() -> None:
    below = {"name": "below", "parent": "team"}
    assert wanted_states(({"name": "a"}, ORG, TEAM, below)) == {
        "a": "open",
        "org": "closed",
        "team": "closed",
        "below": "closed",
    }
    assert wanted_states((ORG, {**TEAM, "state": "absent"}))["team"] == "absent"
    assert found({"name": "a"}, ORG, TEAM, below) == []


def test_queues_in_a_circle_are_each_above_the_other_once() -> None:
    circle = {"a": {"name": "a", "parent": "b"}, "b": {"name": "b", "parent": "a"}}
    assert ancestors("a", circle) == ["b", "a"]
    assert wanted_states(tuple(circle.values())) == {"a": "open", "b": "open"}


@pytest.mark.parametrize(
    ("queues", "text"),
    [
        (({"name": "default", "state": "absent"},), "queue default is absent"),
        (({"name": "org", "state": "absent"}, TEAM), "queue team is below org, which is absent"),
        ((ORG, {**TEAM, "state": "open"}), "queue team is open and below org, which is closed"),
    ],
)
def test_states_that_do_not_go_together(queues: tuple[dict[str, Any], ...], text: str) -> None:
    assert [text in line for line in found(*queues)] == [True]


def test_the_default_queue_may_be_closed() -> None:
    assert found({"name": "default", "state": "closed"}) == []


def test_states_are_settings() -> None:
    settings = parse({"volcano_queues": [{"name": "a", "state": "absent"}], "volcano_queue_drain_seconds": 5})
    assert settings.scheduling.drain_seconds == 5
    with pytest.raises(InvalidInput, match="state"):
        parse({"volcano_queues": [{"name": "a", "state": "shut"}]})
    with pytest.raises(InvalidInput, match="default is absent"):
        parse({"volcano_queues": [{"name": "default", "state": "absent"}]})
