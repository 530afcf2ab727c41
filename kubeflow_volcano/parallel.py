"""Work in daemon threads whose exceptions reach their caller: of several items at once, or beside it."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def in_parallel(function: Callable[[_Item], _Answer], items: Iterable[_Item], threads: int = 8) -> list[_Answer]:
    """`function` of every item, in the order of the items; at most `threads` calls run at a time.

    The first exception is raised at once. After it, or after a signal, no other call starts, and calls that still wait
    for a server are abandoned: an executor would wait for them, also when the program exits.
    """
    todo: queue.SimpleQueue[tuple[int, _Item]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, _Answer] | BaseException] = queue.SimpleQueue()
    over = threading.Event()
    for numbered in enumerate(items):
        todo.put(numbered)
    count = todo.qsize()

    def work() -> None:
        with contextlib.suppress(queue.Empty):
            while not over.is_set():
                number, item = todo.get_nowait()
                try:
                    done.put((number, function(item)))
                except BaseException as error:  # noqa: BLE001  raised in the calling thread
                    done.put(error)

    for number in range(min(threads, count)):
        threading.Thread(target=work, name=f"parallel-{number}", daemon=True).start()
    answers: dict[int, _Answer] = {}
    try:
        while len(answers) < count:
            news = done.get()
            if isinstance(news, BaseException):
                raise news
            answers[news[0]] = news[1]
    finally:
        over.set()
    return [answers[number] for number in range(count)]


def carrying_thread(work: Callable[[], None], failed: Callable[[BaseException], None], name: str) -> threading.Thread:
    """A daemon thread, not started yet, that hands an exception of `work` to `failed`, in this thread.

    Without it Python would print the exception and end the thread, and the caller would wait for news until its own
    deadline. `failed` must end that wait, and the caller raises the exception.
    """

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  raised in the caller
            failed(error)

    return threading.Thread(target=run, name=name, daemon=True)


def begun(work: Callable[[], _Answer]) -> Callable[[], _Answer]:
    """Begin `work` in a daemon thread; the call that is returned waits for its answer, or raises what it raised."""
    future: Future[_Answer] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  raised in the caller
            future.set_exception(error)

    threading.Thread(target=run, name="begun", daemon=True).start()
    return future.result


@contextlib.contextmanager
def meanwhile(work: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `work` every so many seconds while a `with` block runs, whose end waits for a call that has begun.

    An exception of `work` ends the calls, and is raised after a block that raises none itself.
    """
    over = threading.Event()
    failures: list[BaseException] = []

    def repeat() -> None:
        while not over.wait(seconds):
            work()

    thread = carrying_thread(repeat, failures.append, "meanwhile")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failures:
        raise failures[0]
