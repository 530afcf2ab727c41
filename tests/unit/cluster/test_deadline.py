"""A deadline ends waits, alone or as part of a longer one, and begins anew when something came of the wait."""

from __future__ import annotations

import time

from kubeflow_volcano.cluster.deadline import Deadline


def test_it_passes() -> None:
    deadline = Deadline(0.05)
    assert not deadline.passed
    time.sleep(0.06)
    assert deadline.passed
    assert deadline.remaining == 0


def test_a_part_ends_with_the_whole() -> None:
    whole = Deadline(60)
    assert whole.part(5).remaining <= 5
    assert whole.part(100).remaining <= 60
    part = whole.part(5)
    whole.end()
    assert part.passed
    assert whole.passed


def test_a_renewed_one_counts_from_then_and_still_knows_its_beginning() -> None:
    deadline = Deadline(0.2)
    time.sleep(0.1)
    deadline.renew()
    assert deadline.remaining > 0.15
    assert deadline.elapsed >= 0.1


def test_an_ended_one_is_not_renewed() -> None:
    deadline = Deadline(60)
    deadline.end()
    deadline.renew()
    assert deadline.passed
