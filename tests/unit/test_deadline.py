"""A deadline ends waits, alone or as part of a longer one, and begins anew when something came of the wait."""

from __future__ import annotations

import pytest

from kubeflow_volcano.deadline import Deadline


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which the test turns."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_it_passes(clock: list[float]) -> None:
    deadline = Deadline(5)
    assert not deadline.passed
    clock[0] += 5
    assert deadline.passed
    assert deadline.remaining == 0


def test_a_part_ends_with_the_whole() -> None:
    whole = Deadline(60)
    assert whole.at_most(5).remaining <= 5
    assert whole.at_most(100).remaining <= 60
    part = whole.at_most(5)
    whole.expire()
    assert part.passed
    assert whole.passed


def test_a_renewed_one_counts_from_then_and_still_knows_its_beginning(clock: list[float]) -> None:
    deadline = Deadline(5)
    clock[0] += 3
    deadline.renew()
    assert deadline.remaining == 5
    assert deadline.elapsed == 3


def test_an_ended_one_is_not_renewed() -> None:
    deadline = Deadline(60)
    deadline.expire()
    deadline.renew()
    assert deadline.passed


def test_a_loop_that_polls_looks_at_once_and_once_more_at_the_end(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr("time.sleep", sleep)

    assert list(Deadline(10).every(4)) == [0, 4, 8, 10]


def test_a_deadline_that_has_passed_still_lets_a_loop_look() -> None:
    assert len(list(Deadline(0).every(60))) == 1
