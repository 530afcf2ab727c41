"""What came of a case, and the nodes that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Event", "Nodes", "Outcome", "Title"]

Event = Mapping[str, str]
"""One moment as plain data: at (RFC3339), name, event (in one word), what."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes with GPUs that a case needs: so many, each with so many nvidia.com/gpu, and no others."""

    count: int
    gpus: int = 1


@dataclass(frozen=True, slots=True)
class Title:
    """What a case is called. `title` is the head of its table.

    `control` says that it shows what happens without what the scenario is about.
    """

    scenario: str
    name: str
    title: str
    control: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case came out, as plain data. `problem` is empty when everything was as claimed.

    `judged` is False when it cannot be told how it came out; `problem` then says why.
    `rows` stand below `heads` in the table, and `lines` below the rows: PodGroups, queues, jobs. `figures` are what was
    measured, by what it is called. `events` are the moments of the watch history, which went on until `watched_until`
    (RFC3339), and `groups` the names in it that are of PodGroups. `versions` says what it was run on, by the name of
    the program.
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

    @property
    def verdict(self) -> str:
        """How it came out, in words."""
        if not self.judged:
            return f"could not tell: {self.problem}"
        return f"NOT as claimed: {self.problem}" if self.problem else "as claimed"
