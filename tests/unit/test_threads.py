"""What ends a thread is handed to whoever waits for it."""

from __future__ import annotations

import queue
import sys

from kubeflow_volcano.parallel import carrying_thread


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
