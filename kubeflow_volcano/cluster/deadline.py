"""A point in time that ends a wait, on the monotonic clock."""

from __future__ import annotations

import time

__all__ = ["Deadline"]


class Deadline:
    """`seconds` from now. Passed down through calls, so that nested waits share one budget."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.seconds - self.elapsed)

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining <= 0
