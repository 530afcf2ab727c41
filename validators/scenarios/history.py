"""What a case saw, without a gap: pods and PodGroups as in all experiments, and besides who held nodes at one time."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watching import Change
from validators.facts import SIMULATED_POD
from validators.probes.record import Group, Member, Recorder
from validators.scenarios.model import Event

__all__ = ["JOB_NAME", "ROLE", "History", "short", "status", "succeeded"]

JOB_NAME, ROLE = "training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"
"""Labels of the pods of the training operator."""

_UID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_FOLLOWED = frozenset({"Pod", "PodGroup"})


@dataclass
class History(Recorder):
    """A record of the pods and PodGroups of one case, and of objects of further kinds that it follows.

    `objects` holds every state of those that was seen, in order, by kind and name ("TFJob/mnist"). `holdings` are all
    sets of names that held a node at one time, with the monotonic time at which each began: a pod that has ended holds
    nothing, which `states` does not tell.
    """

    objects: dict[str, list[Object]] = field(default_factory=dict)
    holdings: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)

    def take(self, change: Change) -> None:
        """Account for one change."""
        if change.subject.kind not in _FOLLOWED:
            if change.type != "DELETED":
                for obj in change.objects:
                    self.objects.setdefault(f"{change.subject.kind}/{obj['metadata']['name']}", []).append(obj)
            return
        super().take(change)
        now = self.holding()
        if not self.holdings or self.holdings[-1][1] != now:
            self.holdings.append((time.monotonic(), now))

    def begin(self) -> None:
        """Start anew: forget what is gone, and what was seen until now."""
        super().begin()
        self.objects = {}
        self.holdings = []

    @property
    def present(self) -> tuple[Member, ...]:
        """Pods that are there."""
        return tuple(item for item in self.members.values() if not item.gone)

    @property
    def present_groups(self) -> tuple[Group, ...]:
        """PodGroups that are there."""
        return tuple(item for item in self.groups.values() if not item.gone)

    def of(self, job: str) -> tuple[Member, ...]:
        """Pods of a job of the training operator, also those that are gone."""
        return tuple(item for item in self.members.values() if item.labels.get(JOB_NAME) == job)

    def holding(self) -> tuple[str, ...]:
        """Names of pods that have a node and neither ended nor went."""
        return tuple(sorted(item.name for item in self.members.values() if item.node and not (item.gone or item.ended)))

    def most_bound(self) -> int:
        """How many pods had a node at the same time, at most."""
        return max((len(names) for names in self.states), default=0)

    def events(self) -> tuple[Event, ...]:
        """The moments as plain data, with short names."""
        return tuple(
            {"at": item.at, "name": short(item.name), "event": item.event, "what": item.what} for item in self.timeline
        )

    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Name, status and node of each pod that is there; a simulated node bears a star."""
        return tuple(sorted((item.name, status(item), _node(item)) for item in self.present))

    def lines(self) -> tuple[str, ...]:
        """One line on each PodGroup that is there, with the reasons that it gives while it does not run."""
        found = []
        for group in self.present_groups:
            reasons = ", ".join(dict.fromkeys(item["reason"] for item in group.conditions if item.get("reason")))
            named = f"PodGroup {short(group.name)}: " if len(self.present_groups) > 1 else "PodGroup "
            found.append(f"{named}{group.phase or 'without phase'}, MINMEMBER {group.minimum}")
            # Volcano leaves the condition of a group that had to wait as it was.
            found += [f"  {reasons}"] if reasons and group.phase != "Running" else []
        return tuple(found) or ("no PodGroup",)

    def picture(self) -> str:
        """How it stands, in a few words."""
        groups = ", ".join(f"{short(item.name)} {item.phase or 'without phase'}" for item in self.present_groups)
        return f"{len(self.present)} pods, {len(self.holding())} hold a node; PodGroups: {groups or 'none'}"


def short(name: str) -> str:
    """A name without the UID that Volcano puts behind it: the PodGroup of its own Job is called <job>-<uid>."""
    return _UID.sub("", name)


def status(member: Member) -> str:
    """Phase of a pod; 'Unschedulable' when a scheduler has judged it and it has no node."""
    return "Unschedulable" if member.judged and not member.node else member.phase


def succeeded(states: Sequence[Object]) -> bool:
    """Whether the last of the states of a Kubeflow job says that it has succeeded."""
    return bool(states) and conditions(states[-1]).get("Succeeded", {}).get("status") == "True"


def _node(member: Member) -> str:
    return member.node + ("*" if member.node and SIMULATED_POD in member.labels else "") or "-"
