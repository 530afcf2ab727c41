"""A start is given up when nothing new happens, not when a clock says so."""

from __future__ import annotations

import itertools
import time

from kubeflow_volcano.rehearsal.cluster.patience import while_progressing


def test_what_makes_progress_may_take_longer_than_the_limit_of_stillness() -> None:
    counter = itertools.count()
    began = time.monotonic()
    times = [*while_progressing(lambda: next(counter), still=0.1, total=0.5, pause=0.02)]
    assert times[0] < 0.1
    assert 0.5 <= times[-1] <= time.monotonic() - began


def test_what_stands_still_is_given_up_soon() -> None:
    *_, last = while_progressing(lambda: 0, still=0.1, total=30, pause=0.02)
    assert 0.1 <= last < 5


def test_a_change_starts_the_limit_again() -> None:
    steps = iter([*range(10), *itertools.repeat(10, 1000)])
    *_, last = while_progressing(lambda: next(steps), still=0.2, total=30, pause=0.05)
    assert last >= 0.2 + 8 * 0.05
