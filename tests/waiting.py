"""Waiting for what comes about outside of a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_Answer = TypeVar("_Answer")


def until(found: Callable[[], _Answer | None], seconds: float = 120, *, every: float = 0.1) -> _Answer:
    """What `found` returns, as soon as it is something; it is asked every so many seconds.

    Raises:
        AssertionError: it has been nothing for so long; the text is its last answer.
    """
    end = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {answer!r}"
        time.sleep(every)
    return answer


def at_last(asked: Callable[[], _Answer], wanted: _Answer, seconds: float = 60, *, every: float = 0) -> _Answer:
    """What `asked` returns once that is what is wanted, else its last answer, for the assertion to show.

    For what follows with a delay that nobody can see, such as what kube-proxy makes of endpoints.
    """
    end = time.monotonic() + seconds
    while (answer := asked()) != wanted and time.monotonic() < end:
        time.sleep(every)
    return answer
