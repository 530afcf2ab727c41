"""What became of a job's pods and PodGroup, from every watch event: who was bound when, how many at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watching import Change
from validators.facts import SIMULATED_POD

__all__ = ["Group", "History", "Member"]

REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"


@dataclass(frozen=True, slots=True)
class Member:
    """One pod as last seen. `bound` is in seconds since the history began; None while no node was chosen."""

    name: str
    role: str
    phase: str
    node: str
    scheduler: str
    unschedulable: bool
    simulated: bool
    bound: float | None

    @classmethod
    def of(cls, pod: Object, bound: float | None) -> Member:
        """Read a pod."""
        labels = pod["metadata"].get("labels") or {}
        return cls(
            name=pod["metadata"]["name"],
            role=f"{labels.get(REPLICA_TYPE, '')}-{labels.get(REPLICA_INDEX, '')}".strip("-"),
            phase=pod.get("status", {}).get("phase", "Pending"),
            node=pod["spec"].get("nodeName", ""),
            scheduler=pod["spec"].get("schedulerName", ""),
            unschedulable=conditions(pod).get("PodScheduled", {}).get("status") == "False",
            simulated=SIMULATED_POD in labels,
            bound=bound,
        )


@dataclass(frozen=True, slots=True)
class Group:
    """The PodGroup as last seen. `judged` once the scheduler has written its opinion with a transition id."""

    phase: str
    min_member: int
    reasons: tuple[str, ...]
    judged: bool

    @classmethod
    def of(cls, group: Object) -> Group:
        """Read a PodGroup."""
        found = group.get("status", {}).get("conditions") or ()
        return cls(
            phase=group.get("status", {}).get("phase", ""),
            min_member=group["spec"].get("minMember", 0),
            reasons=tuple(str(item.get("reason", "")) for item in found),
            judged=any(item.get("type") == "Unschedulable" and item.get("transitionID") for item in found),
        )


@dataclass
class History:
    """Grows by `see`. `most_bound` is the largest number of members that had a node at the same moment."""

    began: float
    members: dict[str, Member] = field(default_factory=dict)
    group: Group | None = None
    phases: list[tuple[float, str]] = field(default_factory=list)
    most_bound: int = 0

    def see(self, change: Change) -> None:
        """Take a change of the job's pods or of its PodGroup into account."""
        if change.subject.kind == "PodGroup":
            self._see_group(change)
            return
        if change.type == "RESET":
            names = {item["metadata"]["name"] for item in change.objects}
            self.members = {name: member for name, member in self.members.items() if name in names}
        for pod in change.objects:
            name = pod["metadata"]["name"]
            if change.type == "DELETED":
                self.members.pop(name, None)
                continue
            former = self.members.get(name)
            bound = former.bound if former else None
            if bound is None and pod["spec"].get("nodeName"):
                bound = change.at - self.began
            self.members[name] = Member.of(pod, bound)
        self.most_bound = max(self.most_bound, len(self.bound))

    def _see_group(self, change: Change) -> None:
        if change.type == "DELETED" or not change.objects:
            self.group = None
            return
        self.group = Group.of(change.objects[0])
        if not self.phases or self.phases[-1][1] != self.group.phase:
            self.phases.append((change.at - self.began, self.group.phase))

    @property
    def bound(self) -> tuple[Member, ...]:
        """Members that have a node."""
        return tuple(member for member in self.members.values() if member.node)

    def counted(self, role: str) -> Mapping[str, int]:
        """Number of members of a role ('ps', 'worker') by phase; unbound ones that were judged are 'Unschedulable'."""
        counts: dict[str, int] = {}
        for member in self.members.values():
            if member.role.startswith(role):
                word = "Unschedulable" if member.unschedulable and not member.node else member.phase
                counts[word] = counts.get(word, 0) + 1
        return counts

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a report."""
        members = sorted(self.members.values(), key=lambda item: item.role)
        return {
            "members": [
                {"role": m.role, "phase": m.phase, "node": m.node, "simulated": m.simulated, "bound_s": _round(m.bound)}
                for m in members
            ],
            "group": None
            if self.group is None
            else {"phase": self.group.phase, "minMember": self.group.min_member, "reasons": list(self.group.reasons)},
            "phases": [{"at_s": _round(at), "phase": phase} for at, phase in self.phases],
            "most_bound": self.most_bound,
        }


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)
