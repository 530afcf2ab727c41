"""What the gang experiment shares between its plays: the evidence that they write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.cluster.admission.alterations import Alteration
from kubeflow_volcano.cluster.admission.rescheduling import Rescheduling
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.stage import Stage, Step
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.expectations import SCHEDULER
from kubeflow_volcano.validators.core.timing import Timing


@dataclass
class GangEvidence:
    """What the experiment saw. `steps` holds only steps that came to an end, by id.

    `queue_state` is empty when the queue does not exist, or the scheduler `gang` has none. `refused` is the server's
    text when a probe object was not admitted, `failure` what else ended the experiment early. `volcano_version` is
    empty where nothing tells it. `scheduler` is the Deployment of Volcano's scheduler.
    With `rescheduling` the experiment ends after H1: its pods were not the gang scheduler's; with `ungrouped`, too:
    they were stored without the name of their PodGroup, and these are called for such pods; and with `resized`: its
    PodGroup was stored with another number of pods, and these are called for such PodGroups. `alteration`: what else
    admission changed of pods that were not bound.
    """

    namespace: str = ""
    queue: str = ""
    queue_state: str = ""
    volcano_version: str = ""
    period_seconds: float = 1.0
    hold_seconds: float = 5.0
    priority_class: str = ""
    simulated_nodes: frozenset[str] = frozenset()
    steps: dict[str, Step] = field(default_factory=dict)
    refused: str = ""
    failure: str = ""
    rescheduling: Rescheduling | None = None
    ungrouped: tuple[Ref, ...] | None = None
    resized: tuple[Ref, ...] | None = None
    alteration: Alteration | None = None
    gang: GangScheduler = VOLCANO
    scheduler: Ref = SCHEDULER
    timing: Timing = Timing()  # noqa: RUF009  it is frozen

    @property
    def shut(self) -> bool:
        """Whether there are queues, and the one that is used takes no work."""
        return self.gang.has_queues and self.queue_state != "Open"


Play = Callable[[Stage, GangEvidence, Progress, str], tuple[str, ...]]
"""Writes its steps into the evidence as soon as they are known, and returns their ids. The text is a name prefix."""
