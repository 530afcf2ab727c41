"""One job, whatever its kind, what is around it, and what is found about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from validators.core.facts import Facts, Unread

__all__ = [
    "GROUP_NAME",
    "VOLCANO",
    "Event",
    "Explanation",
    "Finding",
    "Job",
    "Role",
    "Situation",
    "State",
    "counted",
    "finding",
    "of_single_pods",
]

GROUP_NAME = "scheduling.k8s.io/group-name"
"""Annotation of a pod with the name of its PodGroup."""
VOLCANO = "volcano"
"""schedulerName of Volcano, unless it was started with another one."""
_OF_SINGLE_PODS = "podgroup-"


class State(StrEnum):
    """How far a job has come."""

    WAITING = "waiting"
    """Fewer pods run than its gang needs."""
    STARTED = "started"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Role:
    """Pods of a job that are alike: `replicas` are made from `template`, which has metadata and spec of a pod."""

    name: str
    replicas: int
    template: Object


@dataclass(frozen=True, slots=True)
class Job:
    """A job of any kind. `min_available` and `queue` are what its own text asks for: None and empty where it is silent.

    `groups` are the names that its PodGroup may have, the likeliest first. `later` are the roles whose pods are made
    when those of other roles run or have ended.
    """

    ref: Ref
    uid: str
    created: float
    roles: tuple[Role, ...]
    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""
    suspended: bool = False
    groups: tuple[str, ...] = ()
    later: frozenset[str] = frozenset()

    @property
    def wanted(self) -> int:
        """How many pods it has when all are there."""
        return sum(role.replicas for role in self.roles)

    @property
    def first(self) -> int:
        """How many pods it has before any are made of the roles that wait for others."""
        return sum(role.replicas for role in self.roles if role.name not in self.later)


@dataclass(frozen=True, slots=True)
class Event:
    """A Warning about the job, its PodGroup, its pods or its claims; `count` times, last at `last` (RFC3339)."""

    ref: Ref
    reason: str
    message: str
    count: int
    last: str
    source: str


@dataclass(frozen=True, eq=False)
class Situation:
    """All that is known. `pods` are the job's own that are not being deleted, `group` is its PodGroup.

    `facts` has what is around them; a kind that is not served has no objects there.
    """

    job: Job
    obj: Object
    facts: Facts
    group: Object | None = None
    pods: tuple[Object, ...] = ()
    events: tuple[Event, ...] = ()
    """Oldest first."""

    @property
    def minimum(self) -> int:
        """How many pods must be placed together: what the PodGroup says, else what the job will ask for."""
        if self.group:
            return int(self.group["spec"].get("minMember") or 1)
        # Without a gang, a job of steps waits for the pods of the steps that it has come to.
        return self.job.min_available or (max(self.job.first, len(self.pods)) if self.job.later else self.job.wanted)

    @property
    def task_minimums(self) -> Mapping[str, int]:
        """How many of each role must be among them; Volcano heeds that only where minMember covers all of it.

        Rule: CheckTaskValid and CheckTaskReady of pkg/scheduler/api/job_info.go, v1.10.0.
        """
        asked: Mapping[str, int] = (self.group or {"spec": {}})["spec"].get("minTaskMember") or {}
        return asked if self.minimum >= sum(asked.values()) else {}

    @property
    def phase(self) -> str:
        """Of the PodGroup; empty where there is none or no scheduler has judged it."""
        phase: str = (self.group or {}).get("status", {}).get("phase") or ""
        return phase

    @property
    def queue(self) -> str:
        """Name of the queue; a PodGroup without one goes to the default queue, one of another scheduler to none."""
        if self.group and self.group["apiVersion"] == SCHEDULER_PLUGINS.api_version:
            return ""
        return (self.group["spec"].get("queue") if self.group else self.job.queue) or "default"

    @property
    def placed(self) -> tuple[Object, ...]:
        """The pods that have a node."""
        return tuple(pod for pod in self.pods if pod["spec"].get("nodeName"))

    @property
    def unplaced(self) -> tuple[Object, ...]:
        """The pods that exist and have no node."""
        return tuple(pod for pod in self.pods if not pod["spec"].get("nodeName"))

    @property
    def group_ref(self) -> Ref | None:
        """Reference of the PodGroup."""
        return Ref.of(self.group) if self.group else None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about the job. `reason` is a stable CamelCase word; `details` are lines such as one per node.

    `blocks` is False for what is worth knowing and does not keep the job from starting.
    """

    reason: str
    problem: Problem
    objects: tuple[Ref, ...] = ()
    commands: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    blocks: bool = True


def of_single_pods(group: Object) -> bool:
    """Whether Volcano made the PodGroup itself, for pods that name none: each of them is placed alone.

    Rule: PodgroupNamePrefix and createNormalPodPGIfNotExist of pkg/controllers/podgroup, v1.8.0 to v1.10.0.
    """
    return str(group["metadata"]["name"]).startswith(_OF_SINGLE_PODS) and bool(group["metadata"].get("ownerReferences"))


def counted(number: int, word: str) -> str:
    """A number with its noun."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def finding(
    reason: str,
    found: str,
    *,
    needed: str,
    todo: str,
    objects: Sequence[Ref] = (),
    commands: Sequence[str] = (),
    details: Sequence[str] = (),
    blocks: bool = True,
) -> Finding:
    """A finding of its three sentences."""
    return Finding(reason, Problem(found, needed, todo), tuple(objects), tuple(commands), tuple(details), blocks)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer: how far the job is, what was found in causal order, and what could not be looked at.

    `unread` says what could not be read, as a reason and what to do about it.
    """

    situation: Situation
    state: State
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]

    @property
    def blocked(self) -> bool:
        """Whether anything was found that keeps the job from starting."""
        return any(item.blocks for item in self.findings)
