"""A gang of the training operator in a history, and its opposite: a job whose pods are taken one by one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gang_demo.jobs.jobs import GPU
from gang_demo.play.history import History
from kubeflow_volcano.experiment.record import Group, Member

__all__ = ["LONGEST_IN_PART", "Gang", "not_loose", "refused_for_gpus"]

LONGEST_IN_PART = 5.0
"""For so many seconds at most some members of a gang may be seen on nodes and not all.

Volcano decides on all of them at once and then sends one binding after the other.
"""

_SCHEDULER = "volcano"


@dataclass(frozen=True)
class Gang:
    """Pods of a job of the training operator, of which `minimum` start together, and the PodGroup of the same name."""

    history: History
    job: str
    size: int
    minimum: int

    @classmethod
    def of_all(cls, history: History, job: str, size: int) -> Gang:
        """A gang of all pods of a job."""
        return cls(history, job, size, size)

    @property
    def group(self) -> Group | None:
        """Its PodGroup, when that is there."""
        return next((item for item in self.history.present_groups if item.name == self.job), None)

    def placed(self, count: int) -> bool:
        """Whether so many hold nodes by the word of their PodGroup, and a scheduler has refused all others."""
        group = self.group
        if group is None or group.minimum != self.minimum or self.history.held(self.job) != count:
            return False
        return self.history.decided(self.job, self.size)

    def whole(self) -> bool:
        """Whether all its pods hold nodes, by the word of its PodGroup."""
        return self.placed(self.size)

    def withheld(self) -> bool:
        """Whether Volcano has judged the group, and nobody has a node.

        While it does not admit the group there may be no pods; of an admitted one it must have judged each.
        """
        group = self.group
        if group is None or group.minimum != self.minimum or not group.judged or self.history.held(self.job):
            return False
        return group.phase == "Pending" or self.history.decided(self.job, self.size)

    def contradicted(self, most: int) -> str:
        """What shows that it is no such gang, or that more than `most` of it ever had a node; empty when nothing."""
        members = self.history.of(self.job)
        if (bound := sum(bool(item.node) for item in members)) > most:
            return f"{bound} of {self.size} pods of {self.job} got a node where {most} may"
        if (group := self.group) and group.minimum != self.minimum:
            return f"the PodGroup of {self.job} asks for {group.minimum} members instead of {self.minimum}"
        if others := _schedulers(members) - {_SCHEDULER}:
            return f"pods of {self.job} were given to {', '.join(sorted(others))}"
        if (seconds := self.history.in_part(self.job, self.minimum)) > LONGEST_IN_PART:
            return f"{self.job} held nodes in part, fewer than {self.minimum}, for {seconds:.1f} s"
        return ""


def not_loose(history: History) -> str:
    """What shows that gang scheduling is not off; empty when nothing does."""
    if history.groups:
        return "a PodGroup exists although gang scheduling is off"
    others = _schedulers(history.members.values()) - {"default-scheduler"}
    return f"pods were given to {', '.join(sorted(others))}" if others else ""


def refused_for_gpus(members: Collection[Member]) -> bool:
    """Whether the default scheduler has refused each pod that has no node, and in its last word for lack of GPUs."""
    return all(item.judged and f"Insufficient {GPU}" in item.message for item in members if not item.node)


def _schedulers(members: Collection[Member]) -> set[str]:
    return {item.scheduler for item in members}
