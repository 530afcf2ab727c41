"""The course of a case that goes through several pictures one after the other, and measures how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gang_demo.play.history import History
from gang_demo.play.stand import Stand

__all__ = ["Course", "nothing"]


def nothing() -> str:
    """Nothing contradicts the claim, whatever is seen."""
    return ""


@dataclass(kw_only=True)
class Course:
    """One case while it runs. `figures` are what was measured, by what it is called."""

    stand: Stand
    history: History
    figures: dict[str, object] = field(default_factory=dict)

    def settle(
        self,
        reached: Callable[[], bool],
        wrong: Callable[[], str] = nothing,
        hold_seconds: float = 0.0,
        measured: str = "",
    ) -> str:
        """Wait for the next picture as `Stand.settle` does; `measured` names the figure of how long it took to come."""
        since = time.monotonic()
        problem = self.stand.settle(self.history, reached, wrong, hold_seconds)
        if measured and not problem:
            self.figures[measured] = f"{time.monotonic() - since - hold_seconds:.1f} s"
        return problem
