"""INT and TERM raise an exception in the main thread, once, and never inside a block that must finish.

A process whose parent was killed sends itself TERM.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from kubeflow_volcano.problems import Exit

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_SECONDS = 0.5


class Interrupted(BaseException):
    """A signal ended the run. Not an Exception, so that `except Exception` does not catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = Exit.INTERRUPTED if number == signal.SIGINT else Exit.TERMINATED


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise Interrupted on the first INT or TERM and ignore later ones; no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    former = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Postpone the first INT or TERM inside the block to its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    former = {number: signal.signal(number, lambda got, _frame: came.append(got)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def ending_with_parent() -> Iterator[None]:
    """Send TERM to the main thread if the process that forked this one by `multiprocessing` ends inside the block.

    Ansible runs each task in such a process. When Ansible is killed, the kernel only gives its workers another parent;
    they would finish their tasks unseen. No effect in other processes.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            if os.getppid() != parent.pid:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)  # also ends a blocking call
                return

    threading.Thread(target=watch, name="parent", daemon=True).start()
    try:
        yield
    finally:
        done.set()
