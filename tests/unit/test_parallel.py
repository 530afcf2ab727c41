"""Several at once, in order, and nobody is waited for when one of them ends the whole."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from kubeflow_volcano.parallel import begun, in_parallel


def test_answers_come_in_the_order_of_the_items_and_no_more_work_at_a_time_than_is_allowed() -> None:
    lock, working, most = threading.Lock(), 0, 0
    together = threading.Barrier(3, timeout=30)

    def slow_first(number: int) -> int:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        if number < 3:
            together.wait()
        time.sleep(0.05 if number == 0 else 0.01)
        with lock:
            working -= 1
        return number * 10

    assert in_parallel(slow_first, range(7), 3) == [0, 10, 20, 30, 40, 50, 60]
    assert most == 3


def test_nothing_to_do_is_done() -> None:
    assert in_parallel(str, [], 4) == []


def test_an_error_is_raised_at_once_and_nothing_more_is_begun() -> None:
    begun: list[int] = []
    hold = threading.Event()

    def break_or_hang(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise ValueError("broken")
        hold.wait(3600)

    with pytest.raises(ValueError, match="broken"):
        in_parallel(break_or_hang, range(6), 2)
    hold.set()
    time.sleep(0.1)
    assert len(begun) < 6


def test_what_was_begun_goes_on_beside_its_caller_who_gets_its_answer_or_its_exception() -> None:
    go = threading.Event()
    answer = begun(lambda: go.wait(60))
    go.set()
    assert answer() is True
    with pytest.raises(SystemExit):
        begun(lambda: sys.exit(1))()
