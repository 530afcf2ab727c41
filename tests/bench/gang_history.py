"""What one watch saw of a gang's way onto nodes, and whether it was ever there in part. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watch.observer import Change

_JUDGED = re.compile(r"/(\d+) tasks in gang unschedulable")


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
    waiting: dict[str, float] = field(default_factory=dict)
    """When each member was last said to find no node."""
    judged: float | None = None
    """When it was first said of the whole gang that it finds no room."""

    def take(self, change: Change) -> None:
        """Take in one piece of news about a pod or a PodGroup."""
        for obj in change.objects if change.type in {"RESET", "ADDED", "MODIFIED"} else ():
            if obj["kind"] == "Pod":
                name = obj["metadata"]["name"]
                self.seen.setdefault(name, change.at)
                if obj["spec"].get("nodeName"):
                    self.bound.setdefault(name, change.at)
                elif conditions(obj).get("PodScheduled", {}).get("status") == "False":
                    self.waiting[name] = change.at
            elif self.judged is None and self._is_about_all(
                conditions(obj).get("Unschedulable", {}).get("message", "")
            ):
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
    def left_behind(self) -> int:
        """How many members were said to find no node when others had one already."""
        first = min(self.bound.values(), default=float("inf"))
        return sum(at >= first for at in self.waiting.values())

    @property
    def partial(self) -> bool:
        """Whether it was ever placed in part: never whole, begun before it was complete, or some were left behind.

        Binding takes its time, and how much says something about the machine: see `span` and `stall`.
        """
        return bool(self.bound) and (not self.whole or self.early > 0 or self.left_behind > 0)

    def facts(self) -> dict[str, object]:
        """All of it as plain data, for the results."""
        return {
            "members": self.members,
            "bound": len(self.bound),
            "after_last": self.after_last,
            "span": self.span,
            "stall": self.stall,
            "early": self.early,
            "left_behind": self.left_behind,
            "partial": self.partial,
        }

    def _is_about_all(self, message: str) -> bool:
        """Whether a PodGroup's message counts all members: it also tells of a gang that does not exist whole yet."""
        found = _JUDGED.search(message)
        return found is not None and int(found[1]) == self.members


def brief(obj: Object) -> None:
    """Take from a pod or PodGroup what the history does not read: a thousand of them come several times."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    obj["metadata"] = {key: obj["metadata"][key] for key in ("name", "namespace", "uid") if key in obj["metadata"]}
    obj["spec"] = {"nodeName": spec.get("nodeName")}
    kept = [item for item in status.get("conditions") or () if item["type"] in {"PodScheduled", "Unschedulable"}]
    obj["status"] = {"conditions": kept}
