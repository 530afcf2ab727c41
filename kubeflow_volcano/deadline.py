"""A point in time that ends a wait, on the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Iterator

__all__ = ["Deadline"]


class Deadline:
    """`seconds` from now. Passed down through calls, so that nested waits share one budget."""

    def __init__(self, seconds: float, whole: Deadline | None = None) -> None:
        """With `whole` it is never later than that one."""
        self.seconds = seconds
        self._whole = whole
        self._started = self._since = time.monotonic()
        self._ended = False

    def part(self, seconds: float) -> Deadline:
        """At most `seconds` of what is left; ends with this one, also when `end` is called later."""
        return Deadline(seconds, self)

    def every(self, seconds: float) -> Iterator[float]:
        """The clock of a loop that polls: yields the elapsed seconds at once, then again after each pause.

        The last look comes when the deadline has passed, so that a loop looks at least once, and never stops before
        its time. For what can be watched, watch it instead.

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
            time.sleep(min(seconds, self.remaining))

    def renew(self) -> None:
        """Count the seconds from now on again, because something has come of them."""
        self._since = time.monotonic()

    def end(self) -> None:
        """Let it pass now: whoever works until it, in whatever thread, is to stop."""
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
        return min(own, self._whole.remaining) if self._whole else own

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining <= 0
