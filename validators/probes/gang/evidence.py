"""What the gang experiment shares between its plays: the evidence that they write, and their time limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.experiment.stage import Stage, Step
from kubeflow_volcano.progress import Progress

__all__ = ["BIND_SECONDS", "SHORTEST_HOLD", "GangEvidence", "Play"]

BIND_SECONDS = 30.0
"""Within this time a scheduler that works has placed some tiny pods."""

SHORTEST_HOLD = 5.0
"""At least so long nobody may be bound where none may be."""


@dataclass
class GangEvidence:
    """What the experiment saw. `steps` holds only steps that came to an end, by id.

    `queue_state` is empty when the queue does not exist, or the scheduler `gang` has none. `refused` is the server's
    text when a probe object was not admitted, `trouble` what else ended the experiment early. `volcano_version` is
    empty where nothing tells it.
    """

    namespace: str = ""
    queue: str = ""
    queue_state: str = ""
    volcano_version: str = ""
    period_seconds: float = 1.0
    hold_seconds: float = SHORTEST_HOLD
    priority_class: str = ""
    simulated_nodes: frozenset[str] = frozenset()
    steps: dict[str, Step] = field(default_factory=dict)
    refused: str = ""
    trouble: str = ""
    seconds: float = 0.0
    gang: GangScheduler = VOLCANO

    @property
    def shut(self) -> bool:
        """Whether there are queues, and the one that is used takes no work."""
        return self.gang.has_queues and self.queue_state != "Open"


Play = Callable[[Stage, GangEvidence, Progress, str], tuple[str, ...]]
"""Writes its steps into the evidence as soon as they are known, and returns their ids. The text is a name prefix."""
