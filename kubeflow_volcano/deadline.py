"""A point in time that ends a wait, on the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Self

_LONGEST = 5


class Deadline:
    """`seconds` from now. Nested waits share one budget by passing it down."""

    def __init__(self, seconds: float, parent: Deadline | None = None) -> None:
        """It never passes later than its `parent`."""
        self.seconds = seconds
        self._parent = parent
        self._started = self._since = time.monotonic()
        self._ended = False

    @classmethod
    def renewable(cls, seconds: float) -> Self:
        """`seconds` without progress (`renew`): what is slow gets its time, five times `seconds` in all."""
        return cls(seconds, cls(seconds * _LONGEST))

    def at_most(self, seconds: float) -> Deadline:
        """A deadline in `seconds` that passes with this one at the latest, also if `expire` is called later."""
        return Deadline(seconds, self)

    def every(self, seconds: float) -> Iterator[float]:
        """The clock of a polling loop: yields the elapsed seconds at once, then after each pause.

        The last iteration comes after the deadline has passed: a loop polls at least once, and never gives up early.
        Prefer a watch where there is one.

            for _ in deadline.every(0.2):
                if ready():
                    return
            raise TimeoutError
        """
        while True:
            last = self.passed
            yield self.elapsed
            if last:
                return
            self.pause(seconds)

    def pause(self, seconds: float) -> None:
        """Wait where nothing can be watched, until the deadline at most."""
        time.sleep(min(seconds, self.remaining))

    def renew(self) -> None:
        """Restart the seconds, because the work has made progress."""
        self._since = time.monotonic()

    def expire(self) -> None:
        """Expire now: every thread that shares this deadline stops."""
        self._ended = True

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def remaining(self) -> float:
        """Seconds left, never below 0."""
        if self._ended:
            return 0.0
        own = max(0.0, self._since + self.seconds - time.monotonic())
        return min(own, self._parent.remaining) if self._parent else own

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining <= 0
