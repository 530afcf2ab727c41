"""How often a registry may be asked: never more than so many times in any minute."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from kubeflow_volcano.catalog.images.mirrors import mirror_of
from kubeflow_volcano.catalog.images.names import ImageName

_MINUTE_SECONDS = 60.0


class RateLimit:
    """At most `per_minute` requests in any 60 seconds, for several threads. `taken` counts them."""

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.per_minute = per_minute
        self.taken = 0
        self._clock = clock
        self._cancelled = threading.Event()
        self._wait = wait or self._cancelled.wait
        self._turns: deque[float] = deque()
        self._free_at = 0.0
        self._lock = threading.Lock()

    def acquire(self) -> bool:
        """Wait until a request may be sent; False after `cancel`."""
        while not self._cancelled.is_set():
            seconds = self._take()
            if seconds == 0:
                return True
            self._wait(seconds)
        return False

    def cancel(self) -> None:
        """End every wait; no request may be sent any more."""
        self._cancelled.set()

    def slow_down(self, seconds: float) -> None:
        """After a 429: no request for so many seconds, and from then on half as many a minute."""
        with self._lock:
            self._free_at = max(self._free_at, self._clock() + seconds)
            self.per_minute = max(1, self.per_minute // 2)

    def charge(self, requests: int) -> None:
        """Requests that another program sent at once: none of ours until the limit has room for them again."""
        with self._lock:
            self._free_at = max(self._free_at, self._clock()) + requests * _MINUTE_SECONDS / self.per_minute

    def _take(self) -> float:
        """Take a turn and return 0, or return the seconds until one may be free."""
        with self._lock:
            now = self._clock()
            if now < self._free_at:
                return self._free_at - now
            while self._turns and self._turns[0] <= now - _MINUTE_SECONDS:
                self._turns.popleft()
            if len(self._turns) >= self.per_minute:
                return self._turns[-self.per_minute] + _MINUTE_SECONDS - now
            self._turns.append(now)
            self.taken += 1
            return 0.0


def rate_limit_for(names: Iterable[str], per_minute: int) -> RateLimit:
    """`per_minute` requests, or fewer if a known mirror among the hosts of these image names allows fewer."""
    images = filter(None, map(ImageName.parse, names))
    rates = {mirror.requests_per_minute for image in images if (mirror := mirror_of(image))}
    return RateLimit(min({per_minute, *rates}))
