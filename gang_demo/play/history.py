"""What a case saw, without a gap: pods and PodGroups as in all experiments, and which pods held nodes when."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.cluster.metadata import SIMULATED_POD
from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.experiment.record import Group, Member, Recorder
from kubeflow_volcano.gang_demo.model import Event
from kubeflow_volcano.text import counted

JOB_NAME, ROLE = "training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"
"""Labels of the pods of the training operator."""
VCJOB_NAME = "volcano.sh/job-name"
"""Label of the pods of Volcano's own jobs."""

_UID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_FOLLOWED = frozenset({"Pod", "PodGroup"})


class Holding(NamedTuple):
    """Pods on nodes from a monotonic time on, by UID: `holders` run or will run, `bound` also have ended there."""

    at: float
    holders: frozenset[str]
    bound: frozenset[str]


@dataclass
class History(Recorder):
    """A record of the pods and PodGroups of one case, and of objects of further kinds that it watches.

    `objects` has every state of the latter that was seen, in order, by kind and name ("TFJob/mnist"). `holdings` are
    the pods on nodes over time; unlike in `states`, a pod that has ended holds nothing. `known_until` is the monotonic
    time until which all changes are known. `listed` are the subjects with at least one list or change.
    """

    objects: dict[str, list[Object]] = field(default_factory=dict)
    holdings: list[Holding] = field(default_factory=list)
    known_until: float = 0.0
    listed: set[Subject] = field(default_factory=set)
    gang: GangScheduler = VOLCANO
    _broken: str = ""
    _evicted: set[str] = field(default_factory=set)
    _nominated: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Advance `known_until` also while nothing changes."""
        self.changes = self._timed(self.changes)

    def _timed(self, changes: Iterator[Change | None]) -> Iterator[Change | None]:
        for change in changes:
            if change is None:
                self.known_until = time.monotonic()
            yield change

    def take(self, change: Change) -> None:
        """Record one change."""
        self.known_until = max(self.known_until, change.at)
        if change.type == "RESET":
            if change.subject in self.listed:
                self._broken = f"the watch of {change.subject.kind}s broke off, and changes were missed"
            self.listed.add(change.subject)
        if change.subject.kind not in _FOLLOWED:
            if change.type != "DELETED":
                for obj in change.objects:
                    self.objects.setdefault(f"{change.subject.kind}/{obj['metadata']['name']}", []).append(obj)
            return
        if change.subject.kind == "Pod":
            for obj in change.objects:
                self._displaced(obj)
        super().take(change)
        holders = frozenset(item.uid for item in self.holders)
        bound = frozenset(item.uid for item in self.present if item.node)
        if not self.holdings or self.holdings[-1][1:] != (holders, bound):
            self.holdings.append(Holding(change.at, holders, bound))

    def begin(self) -> None:
        """Start again: forget deleted pods and all that was seen until now."""
        super().begin()
        self.objects = {}
        self.holdings = []

    def dismiss(self, *members: Member) -> None:
        """Record that the case itself deletes these pods."""
        for item in members:
            item.removing = True

    # whether it can be judged

    def find_doubt(self) -> str:
        """Why nothing can be concluded from this history; empty when something can.

        Either a watch broke off, or a pod was deleted by something else than the case, a scheduler (which marks the
        pod) or, after one of these, the controller that deletes the rest of such a job.
        """
        if self._broken:
            return self._broken
        deleted = (item for item in self.members.values() if item.lost and not item.ended)
        for item in deleted:
            job = _job(item)
            together = self.members_of(job) if job else (item,)
            if not any(self._explained(other) for other in together):
                return f"pod {item.name} was deleted from outside: {item.lost}"
        return ""

    def _explained(self, member: Member) -> bool:
        return member.removing or member.uid in self._evicted or member.node in self._nominated

    def _displaced(self, pod: Object) -> None:
        """Record evictions by a scheduler.

        Volcano sets the reason Evict of PodReady, the default scheduler the condition DisruptionTarget. Before
        Kubernetes 1.26 the latter marks only the pod for which it evicts, with the nominated node.
        """
        by_type = conditions(pod)
        reasons = {by_type.get("Ready", {}).get("reason"), by_type.get("DisruptionTarget", {}).get("reason")}
        if reasons & {"Evict", "PreemptionByScheduler"}:
            self._evicted.add(pod["metadata"]["uid"])
        if nominated := pod.get("status", {}).get("nominatedNodeName"):
            self._nominated.add(nominated)

    # pods and groups

    @property
    def present(self) -> tuple[Member, ...]:
        """Pods that exist."""
        return tuple(item for item in self.members.values() if not item.gone)

    @property
    def present_groups(self) -> tuple[Group, ...]:
        """PodGroups that exist."""
        return tuple(item for item in self.groups.values() if not item.gone)

    @property
    def holders(self) -> tuple[Member, ...]:
        """Pods with a node that exist and have not ended."""
        return tuple(item for item in self.present if item.node and not item.ended)

    def most_bound(self) -> int:
        """The greatest number of pods that had a node at the same time."""
        return max((len(names) for names in self.states), default=0)

    # jobs

    def members_of(self, job: str) -> tuple[Member, ...]:
        """Pods of a job of the training operator or of Volcano, also deleted ones."""
        return tuple(item for item in self.members.values() if _job(item) == job)

    def present_of(self, job: str) -> tuple[Member, ...]:
        """Pods of a job that exist."""
        return tuple(item for item in self.members_of(job) if not item.gone)

    def placed(self, *jobs: str) -> int:
        """Number of pods of these jobs that hold a node."""
        return sum(_job(item) in jobs for item in self.holders)

    def most_held(self, *jobs: str) -> int:
        """The greatest number of pods of these jobs that held a node at the same time."""
        own = {item.uid for job in jobs for item in self.members_of(job)}
        return max((len(own & item.holders) for item in self.holdings), default=0)

    def in_part(self, job: str, size: int) -> float:
        """The longest time in seconds for which some pods of the job were on nodes, but fewer than `size`.

        Pods that have ended count, as a job may end pod by pod. A state that lasts counts until `known_until`.
        """
        own = {item.uid for item in self.members_of(job)}
        longest = 0.0
        since: float | None = None
        for item in (*self.holdings, Holding(self.known_until, frozenset(), frozenset())):
            if since is not None:
                longest = max(longest, item.at - since)
            if not 0 < len(own & item.bound) < size:
                since = None
            elif since is None:
                since = item.at
        return round(longest, 2)

    def is_running(self, job: str, size: int) -> bool:
        """Whether the job has `size` pods and all run."""
        there = self.present_of(job)
        return len(there) == size and all(item.phase == "Running" for item in there)

    def is_waiting(self, job: str, size: int) -> bool:
        """Whether the job has `size` pods, a scheduler has judged each, and none has a node."""
        there = self.present_of(job)
        return len(there) == size and all(item.judged and not item.node for item in there)

    def is_decided(self, job: str, size: int) -> bool:
        """Whether the job has `size` pods, each on a node or refused by a scheduler."""
        there = self.present_of(job)
        return len(there) == size and all(item.node or item.judged for item in there)

    # how it is shown

    def events(self) -> tuple[Event, ...]:
        """The events as plain data, with short names."""
        return tuple(
            {"at": item.at, "name": short(item.name), "event": item.event, "what": item.what} for item in self.timeline
        )

    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Name, status and node of each pod that exists; simulated nodes have a star."""
        return tuple(sorted((item.name, status(item), _node(item)) for item in self.present))

    def lines(self) -> tuple[str, ...]:
        """One line per PodGroup, with the reasons of its conditions while it does not run."""
        rows = []
        for group in self.present_groups:
            reasons = ", ".join(dict.fromkeys(item["reason"] for item in group.conditions if item.get("reason")))
            named = f"PodGroup {short(group.name)}: " if len(self.present_groups) > 1 else "PodGroup "
            rows.append(f"{named}{group.phase or 'without phase'}, MINMEMBER {group.minimum}")
            # Volcano does not clear the conditions of a group that had to wait.
            rows += [f"  {reasons}"] if reasons and group.phase != self.gang.placed else []
        return tuple(rows) or ("no PodGroup",)

    def picture(self) -> str:
        """The current state in a few words."""
        groups = ", ".join(f"{short(item.name)} {item.phase or 'without phase'}" for item in self.present_groups)
        return f"{counted(len(self.present), 'pod')}, {len(self.holders)} on nodes; PodGroups: {groups or 'none'}"


def short(name: str) -> str:
    """A name without the UID that Volcano appends: the PodGroup of its own Job is named <job>-<uid>."""
    return _UID.sub("", name)


def status(member: Member) -> str:
    """Phase of a pod; 'Unschedulable' when a scheduler has judged it and it has no node."""
    return "Unschedulable" if member.judged and not member.node else member.phase


def has_succeeded(states: Sequence[Object]) -> bool:
    """Whether the last state of a Kubeflow job has the condition Succeeded, or that of a Job Complete."""
    last = conditions(states[-1]) if states else {}
    return any(last.get(name, {}).get("status") == "True" for name in ("Succeeded", "Complete"))


def _job(member: Member) -> str:
    return member.labels.get(JOB_NAME) or member.labels.get(VCJOB_NAME, "")


def _node(member: Member) -> str:
    return member.node + ("*" if member.node and SIMULATED_POD in member.labels else "") or "-"
