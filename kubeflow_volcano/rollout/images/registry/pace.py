"""How often somebody may be asked: never more than so many times in any minute."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["PerMinute"]

_MINUTE_SECONDS = 60.0


class PerMinute:
    """At most `limit` turns in any 60 seconds, for several threads. `taken` counts them."""

    def __init__(
        self,
        limit: int,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.limit = limit
        self._clock = clock
        self._off = threading.Event()
        self._wait = wait or self._off.wait
        self._turns: deque[float] = deque()
        self._pause_until = 0.0
        self._lock = threading.Lock()
        self.taken = 0

    def turn(self) -> bool:
        """Return True when it is the caller's turn; False where everything was called off."""
        while not self._off.is_set():
            seconds = self._take()
            if seconds == 0:
                return True
            self._wait(seconds)
        return False

    def call_off(self) -> None:
        """Nobody gets a turn any more."""
        self._off.set()

    def pause(self, seconds: float) -> None:
        """Nobody's turn comes before so many seconds have passed."""
        with self._lock:
            self._pause_until = max(self._pause_until, self._clock() + seconds)

    def _take(self) -> float:
        """Take a turn and return 0, or return the seconds until one may be free."""
        with self._lock:
            now = self._clock()
            if now < self._pause_until:
                return self._pause_until - now
            while self._turns and self._turns[0] <= now - _MINUTE_SECONDS:
                self._turns.popleft()
            if len(self._turns) >= self.limit:
                return self._turns[0] + _MINUTE_SECONDS - now
            self._turns.append(now)
            self.taken += 1
            return 0.0
