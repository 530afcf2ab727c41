"""What one watch saw of a gang's way onto nodes, and whether it was ever there in part. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watch.observer import Change


@dataclass
class GangHistory:
    """The watch history of a gang of `members` named `name`-NUMBER; `started` is the time at which it was asked for.

    Times are those at which the watch told, on the monotonic clock.
    """

    name: str
    members: int
    started: float
    seen: dict[str, float] = field(default_factory=dict)
    """When each member was first told of."""
    bound: dict[str, float] = field(default_factory=dict)
    """When each member was first told of with a node."""
    refused: dict[str, float] = field(default_factory=dict)
    """When each member was first said to find no node."""
    waiting: dict[str, float] = field(default_factory=dict)
    """When each member was last said to find no node."""
    gone: dict[str, float] = field(default_factory=dict)
    """When each member was first told of as deleted."""

    def take(self, change: Change) -> None:
        """Take in one piece of news about pods, of which those of other gangs do not count."""
        for obj in change.objects:
            name = obj["metadata"]["name"]
            if name.rpartition("-")[0] != self.name:
                continue
            self.seen.setdefault(name, change.at)
            if change.type == "DELETED" or obj["metadata"].get("deletionTimestamp"):
                self.gone.setdefault(name, change.at)
            elif obj["spec"].get("nodeName"):
                self.bound.setdefault(name, change.at)
            elif conditions(obj).get("PodScheduled", {}).get("status") == "False":
                self.refused.setdefault(name, change.at)
                self.waiting[name] = change.at

    @property
    def whole(self) -> bool:
        """Whether every member has a node."""
        return len(self.bound) == self.members

    @property
    def held(self) -> int:
        """How many members have a node and are not deleted."""
        return len(self.bound.keys() - self.gone.keys())

    @property
    def settled(self) -> bool:
        """Whether every member has a node, is deleted or was said to find none."""
        return len(self.bound.keys() | self.gone.keys() | self.refused.keys()) == self.members

    @property
    def latest(self) -> float:
        """When a member last got a node, was first refused one, or was deleted."""
        return max((*self.bound.values(), *self.refused.values(), *self.gone.values()), default=self.started)

    @property
    def judged(self) -> float | None:
        """Seconds until every member had been said to find no node; None if that never was so."""
        return max(self.refused.values()) - self.started if len(self.refused) == self.members else None

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
    def pause(self) -> float:
        """The longest time for which the gang stood still with some of its members on nodes."""
        times = sorted(self.bound.values())
        return max((later - at for at, later in pairwise(times)), default=0.0)

    @property
    def left_behind(self) -> int:
        """How many members were said to find no node when others had one already."""
        first = min(self.bound.values(), default=float("inf"))
        return sum(at >= first for at in self.waiting.values())

    @property
    def partial(self) -> bool:
        """Whether it was ever placed in part: never whole, begun before it was complete, or some were left behind.

        Binding takes its time, and how much says something about the machine: see `span` and `pause`.
        """
        return bool(self.bound) and (not self.whole or self.early > 0 or self.left_behind > 0)

    def facts(self) -> dict[str, object]:
        """All of it as plain data, for the results."""
        return {
            "members": self.members,
            "bound": len(self.bound),
            "held": self.held,
            "whole": self.whole,
            "judged": self.judged,
            "after_last": self.after_last,
            "span": self.span,
            "pause": self.pause,
            "early": self.early,
            "left_behind": self.left_behind,
            "partial": self.partial,
        }


def brief(obj: Object) -> None:
    """Take from a pod what the history does not read: a thousand of them come several times."""
    spec, status, meta = obj.get("spec") or {}, obj.get("status") or {}, obj["metadata"]
    obj["metadata"] = {key: meta[key] for key in ("name", "namespace", "uid", "deletionTimestamp") if key in meta}
    obj["spec"] = {"nodeName": spec.get("nodeName")}
    kept = [item for item in status.get("conditions") or () if item["type"] == "PodScheduled"]
    obj["status"] = {"conditions": kept}
