"""What ends a thread is handed to whoever waits for it."""

from __future__ import annotations

import os
import queue
import sys
import threading

import pytest

from kubeflow_volcano.parallel import carrying_thread, meanwhile


def test_any_exception_is_handed_over() -> None:
    failures: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    thread = carrying_thread(sys.exit, failures.put, "worker")
    assert (thread.name, thread.daemon) == ("worker", True)
    thread.start()
    assert isinstance(failures.get(timeout=20), SystemExit)


def test_a_thread_that_ends_says_nothing() -> None:
    failures: list[BaseException] = []
    thread = carrying_thread(lambda: None, failures.append, "worker")
    thread.start()
    thread.join()
    assert not failures


def test_work_is_repeated_until_the_block_ends() -> None:
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    with meanwhile(lambda: calls.put("call"), 0.01):
        assert [calls.get(timeout=20), calls.get(timeout=20)] == ["call", "call"]
    assert "meanwhile" not in {thread.name for thread in threading.enumerate()}


def test_a_failure_beside_a_block_is_raised_after_it_and_hides_none_of_its_own() -> None:
    failed = threading.Event()

    def work() -> None:
        failed.set()
        sys.exit("work")

    with pytest.raises(SystemExit, match="work"), meanwhile(work, 0.01):
        assert failed.wait(20)
    failed.clear()
    with pytest.raises(KeyError, match="block"), meanwhile(work, 0.01):
        os.environ["block" if failed.wait(20) else "late"]
