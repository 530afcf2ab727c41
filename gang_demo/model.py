"""The outcome of a case, and the nodes that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Event = Mapping[str, str]
"""One event as plain data: at (RFC3339), name, event (one word), what."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes with GPUs of a case: `count` of them with `gpus` of nvidia.com/gpu each, and no others."""

    count: int
    gpus: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case as plain data. `problem` is empty when everything was as claimed.

    `judged` is False when the run was inconclusive; `problem` then says why. `limit` is why the claim need not hold
    with this gang scheduler; empty if it should. The table has `rows` under `heads`, and
    then `lines` about PodGroups, queues or jobs. `figures` are measurements by name. `events` are those of the watch,
    which ended at `watched_until` (RFC3339); `groups` are the names in it that are PodGroups. `versions` are those of
    the programs, by name.
    """

    scenario: str
    case: str
    title: str
    control: bool
    problem: str
    seconds: float
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    watched_until: str = ""
    groups: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    judged: bool = True
    limit: str = ""

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if not self.judged:
            return f"inconclusive: {self.problem}"
        because = f" ({self.limit})" if self.limit else ""
        return f"NOT as claimed: {self.problem}{because}" if self.problem else "as claimed"

    @property
    def is_expected(self) -> bool:
        """Whether it is as claimed, or not, but known not to be with this gang scheduler."""
        return not self.problem or (self.judged and bool(self.limit))
