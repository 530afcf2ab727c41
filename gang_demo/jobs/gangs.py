"""A gang of the training operator in a history, and its opposite: a job whose pods are scheduled one by one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kubeflow_volcano.experiment.record import Group, Member
from kubeflow_volcano.gang_demo.jobs.jobs import GPU
from kubeflow_volcano.gang_demo.play.history import History

LONGEST_IN_PART = 5.0
"""Seconds for which a watch may see some members of a gang on nodes and not all.

Volcano decides on all of them at once and then sends one binding after the other.
"""


@dataclass(frozen=True)
class Gang:
    """`size` pods of a training job, of which `minimum` start together, and the PodGroup of the same name."""

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
        """Its PodGroup, if it exists."""
        return next((item for item in self.history.present_groups if item.name == self.job), None)

    def is_placed(self, count: int) -> bool:
        """Whether `count` pods are on nodes and a scheduler has refused all others, with the right minMember."""
        group = self.group
        if group is None or group.minimum != self.minimum or self.history.placed(self.job) != count:
            return False
        return self.history.is_decided(self.job, self.size)

    def is_whole(self) -> bool:
        """Whether all its pods are on nodes, with the right minMember."""
        return self.is_placed(self.size)

    def is_withheld(self) -> bool:
        """Whether its scheduler has judged the group and no pod has a node.

        A group that Volcano has not admitted may have no pods; of any other each pod must have been judged. That is all
        where the scheduler writes nothing into groups.
        """
        group = self.group
        if group is None or group.minimum != self.minimum or self.history.placed(self.job):
            return False
        if group.tells and not group.judged:
            return False
        refused = self.history.gang.has_queues and group.phase == "Pending"
        return refused or self.history.is_decided(self.job, self.size)

    def find_contradiction(self, most: int) -> str:
        """Why it is no such gang, or that more than `most` of its pods ever had a node; empty when neither."""
        members = self.history.members_of(self.job)
        if (bound := sum(bool(item.node) for item in members)) > most:
            return f"{bound} of {self.size} pods of {self.job} got a node where {most} may have one"
        if (group := self.group) and group.minimum != self.minimum:
            return f"the PodGroup of {self.job} has minMember {group.minimum} instead of {self.minimum}"
        if others := _schedulers(members) - {self.history.gang.scheduler}:
            return f"pods of {self.job} have the scheduler {', '.join(sorted(others))}"
        if (seconds := self.history.in_part(self.job, self.minimum)) > LONGEST_IN_PART:
            return f"{self.job} held nodes with fewer than {self.minimum} pods for {seconds:.1f} s"
        return ""


def find_gang(history: History) -> str:
    """Evidence that gang scheduling is on; empty without any."""
    if history.groups:
        return "a PodGroup exists although gang scheduling is off"
    others = _schedulers(history.members.values()) - {"default-scheduler"}
    return f"pods have the scheduler {', '.join(sorted(others))}" if others else ""


def are_refused_for_gpus(members: Collection[Member]) -> bool:
    """Whether the default scheduler has refused each pod without a node, last for insufficient GPUs."""
    return all(item.judged and f"Insufficient {GPU}" in item.message for item in members if not item.node)


def _schedulers(members: Collection[Member]) -> set[str]:
    return {item.scheduler for item in members}
