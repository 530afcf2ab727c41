"""Progress of a run: how many objects are done, how long it takes, what it waits for and why."""

from __future__ import annotations

import time
from collections.abc import Mapping

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.progress import Progress

_PACE_SECONDS = 5.0


class ProgressReporter:
    """Reports one line every 5 seconds; nothing when a run is over sooner."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._started = self._at = time.monotonic()
        self.expected: float | None = None
        """Seconds that the run took last time."""

    def report(self, done: int, pending: Mapping[Ref, str], trouble: str) -> None:
        """Report the state unless the last line is younger than the pace.

        Args:
            done: number of objects that are done.
            pending: what is applied and not ready yet, each with a sentence about its state.
            trouble: what the API server answers instead of working; empty while it works.
        """
        now = time.monotonic()
        if now - self._at < _PACE_SECONDS:
            return
        self._at = now
        about = f" of about {self.expected:.0f}" if self.expected else ""
        line = f"{done} of {self._total} objects, {now - self._started:.0f}{about} s"
        if pending:
            first = next(iter(pending.values())).rstrip(".")
            more = f", and {len(pending) - 1} more" if len(pending) > 1 else ""
            line += f"; waiting: {first}{more}"
        if trouble:
            line += f"; the API server answers: {trouble}"
        self._progress(line)
