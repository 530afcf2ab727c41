"""What one watch saw of a gang's way onto nodes, and whether it was ever there in part. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watching import Change

__all__ = ["PERIOD_SECONDS", "GangHistory", "brief"]

PERIOD_SECONDS = 1.0
"""Volcano's scheduler begins a cycle so often."""

_STALL_PERIODS = 5
"""For so many cycles nobody may join a gang of which some have a node: binding takes time, but not that."""


@dataclass
class GangHistory:
    """The watch history of a gang of `members`, of which `started` is the time at which it was asked for.

    Times are those at which the watch told, on the monotonic clock.
    """

    members: int
    started: float
    seen: dict[str, float] = field(default_factory=dict)
    """When each member was first told of."""
    bound: dict[str, float] = field(default_factory=dict)
    """When each member was first told of with a node."""
    judged: float | None = None
    """When it was told that the whole gang finds no room."""

    def take(self, change: Change) -> None:
        """Take in one piece of news about a pod or a PodGroup."""
        for obj in change.objects if change.type in {"RESET", "ADDED", "MODIFIED"} else ():
            if obj["kind"] == "Pod":
                name = obj["metadata"]["name"]
                self.seen.setdefault(name, change.at)
                if obj["spec"].get("nodeName"):
                    self.bound.setdefault(name, change.at)
            elif self.judged is None and conditions(obj).get("Unschedulable", {}).get("reason") == "NotEnoughResources":
                # Of a gang that does not exist whole yet it says NotEnoughTasks.
                self.judged = change.at

    @property
    def whole(self) -> bool:
        """Whether every member has a node."""
        return len(self.bound) == self.members

    @property
    def seconds(self) -> float:
        """From the beginning to the last member that got a node."""
        return max(self.bound.values(), default=self.started) - self.started

    @property
    def after_last(self) -> float:
        """From the moment at which all members existed to the last one that got a node; below 0 if that was before."""
        return self.seconds + self.started - max(self.seen.values(), default=self.started)

    @property
    def span(self) -> float:
        """From the first member that got a node to the last one."""
        return max(self.bound.values(), default=0.0) - min(self.bound.values(), default=0.0)

    @property
    def early(self) -> int:
        """How many members had a node before all of them existed."""
        complete = max(self.seen.values()) if len(self.seen) == self.members else float("inf")
        return sum(at < complete for at in self.bound.values())

    @property
    def stall(self) -> float:
        """The longest time for which the gang stood still with some of its members on nodes."""
        times = sorted(self.bound.values())
        return max((later - at for at, later in pairwise(times)), default=0.0)

    @property
    def partial(self) -> bool:
        """Whether it was ever placed in part: never whole, begun before it was complete, or standing still between."""
        return bool(self.bound) and (not self.whole or self.early > 0 or self.stall > _STALL_PERIODS * PERIOD_SECONDS)

    def facts(self) -> dict[str, object]:
        """All of it as plain data, for the results."""
        return {
            "members": self.members,
            "bound": len(self.bound),
            "after_last": self.after_last,
            "span": self.span,
            "stall": self.stall,
            "early": self.early,
            "partial": self.partial,
        }


def brief(obj: Object) -> None:
    """Take from a pod or PodGroup what the history does not read: a thousand of them come several times."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    obj["metadata"] = {key: obj["metadata"][key] for key in ("name", "namespace", "uid") if key in obj["metadata"]}
    obj["spec"] = {"nodeName": spec.get("nodeName")}
    obj["status"] = {"conditions": status.get("conditions") if obj["kind"] == "PodGroup" else None}
