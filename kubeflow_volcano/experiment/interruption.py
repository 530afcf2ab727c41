"""INT and TERM raise an exception in the main thread, once, and never inside a block that must finish."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from kubeflow_volcano.problems import Exit

__all__ = ["Interrupted", "interruptible", "postponed"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
