"""Threads whose exceptions reach their caller."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["carrying_thread"]


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
