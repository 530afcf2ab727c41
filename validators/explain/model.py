"""One job of any kind with the objects that its start depends on, and the findings about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kubeflow_volcano.catalog import gangs
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.validators.core.facts import Facts, Unread

GROUP_NAME = gangs.VOLCANO.mark[-1]
"""Annotation of a pod with the name of its PodGroup."""
VOLCANO = gangs.VOLCANO.scheduler
"""schedulerName of Volcano, unless it was started with another one."""
_FOR_SINGLE_PODS = "podgroup-"
_STARTED = frozenset({"Running", "Succeeded"})


class State(StrEnum):
    """Progress of a job."""

    WAITING = "waiting"
    """Fewer pods are running than its gang needs."""
    STARTED = "started"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


_ENDS: Mapping[str, State] = {
    "Succeeded": State.SUCCEEDED,
    "Complete": State.SUCCEEDED,
    "Completed": State.SUCCEEDED,
    "Failed": State.FAILED,
    "Terminated": State.FAILED,
}
"""Condition types of Kubeflow's jobs and of TrainJobs, and phases of Volcano's."""


@dataclass(frozen=True, slots=True)
class Role:
    """Identical pods of a job: `replicas` are created from `template`, which has metadata and spec of a pod."""

    name: str
    replicas: int
    template: Object


@dataclass(frozen=True, slots=True)
class Job:
    """A job of any kind. `min_available` and `queue` are those of its own spec: None and empty where it sets none.

    `groups` are the possible names of its PodGroup, the likeliest first. `later` are the roles whose pods are created
    only when pods of other roles are running or have ended. Of a `foreign` kind nothing but its pods is known.
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
    foreign: bool = False

    @property
    def family(self) -> str:
        """API group of its kind where it is known how that makes its pods and PodGroup; else empty."""
        return "" if self.foreign else self.ref.group

    @property
    def wanted(self) -> int:
        """Number of pods of all roles."""
        return sum(role.replicas for role in self.roles)

    @property
    def initial(self) -> int:
        """Number of pods of the roles that depend on no other role."""
        return sum(role.replicas for role in self.roles if role.name not in self.later)


@dataclass(frozen=True, slots=True)
class Event:
    """A Warning about the job, its PodGroup, pods or claims: seen `count` times, last at `last` (RFC3339)."""

    ref: Ref
    reason: str
    message: str
    count: int
    last: str
    source: str


@dataclass(frozen=True, eq=False)
class Situation:
    """Everything that was read. `pods` are the job's own that are not being deleted; `group` is its PodGroup.

    `facts` has the other objects; a kind that the API server does not serve has none there.
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
        """Number of pods that must be placed together: the PodGroup's minMember, else what the job will request."""
        if self.group and not self.is_loose:
            return self.gang.minimum_of(self.group) or 1
        # Without a gang, a job of steps waits for the pods of the steps that have begun.
        steps = max(self.job.initial, len(self.pods)) if self.job.later or self.job.foreign else self.job.wanted
        return self.job.min_available or steps

    @property
    def is_loose(self) -> bool:
        """Whether no PodGroup holds pods back for each other: there is none, or Kubernetes' of the policy basic."""
        basic = self.group and self.gang is gangs.KUBERNETES and not self.gang.minimum_of(self.group)
        return self.group is None or bool(basic)

    @property
    def missing(self) -> int:
        """Number of pods that are still to be created."""
        return max(self.job.wanted, self.minimum) - len(self.pods)

    @property
    def unscheduled(self) -> int:
        """Number of pods that still need a node before the gang has its minimum."""
        return self.minimum - len(self.placed)

    @property
    def state(self) -> State:
        """Progress, by the job's own conditions and by its pods."""
        if end := self.end:
            return end[0]
        if self.job.suspended:
            return State.SUSPENDED
        started = [pod for pod in self.pods if pod.get("status", {}).get("phase") in _STARTED]
        return State.STARTED if len(started) >= max(self.minimum, 1) else State.WAITING

    @property
    def end(self) -> tuple[State, str] | None:
        """How the job ended, and the message about it; None while it has not."""
        for kind, condition in conditions(self.obj).items():
            if kind in _ENDS and condition.get("status") == "True":
                return _ENDS[kind], str(condition.get("message") or condition.get("reason") or "no message")
        status = self.obj.get("status") or {}
        state = status["state"] if isinstance(status.get("state"), Mapping) else {}
        phase = str(status.get("phase") or state.get("phase"))
        if phase in _ENDS:
            return _ENDS[phase], str(state.get("message") or f"phase {phase}")
        return None

    @property
    def task_minimums(self) -> Mapping[str, int]:
        """Minimum for each role; Volcano applies them only where minMember is at least their sum.

        Rule: CheckTaskValid and CheckTaskReady of pkg/scheduler/api/job_info.go, v1.10.0.
        """
        asked: Mapping[str, int] = (self.group or {"spec": {}})["spec"].get("minTaskMember") or {}
        return asked if self.minimum >= sum(asked.values()) else {}

    @property
    def phase(self) -> str:
        """Phase of the PodGroup; empty where there is no PodGroup or no scheduler has set one."""
        return self.gang.phase_of(self.group) if self.group else ""

    @property
    def gang(self) -> gangs.GangScheduler:
        """The scheduler that reads the PodGroup; of the pods where there is none, and Volcano where they name none."""
        if self.group:
            return gangs.scheduler_of(self.group)
        return next((gang for gang, _ in map(gangs.membership, self.pods) if gang), gangs.VOLCANO)

    @property
    def queue(self) -> str:
        """Name of the queue: `default` where none is set, empty where another scheduler without queues has the gang."""
        if self.group and not self.gang.has_queues:
            return ""
        return (self.group["spec"].get("queue") if self.group else self.job.queue) or "default"

    @property
    def placed(self) -> tuple[Object, ...]:
        """Pods that have a node."""
        return tuple(pod for pod in self.pods if pod["spec"].get("nodeName"))

    @property
    def unplaced(self) -> tuple[Object, ...]:
        """Pods that exist and have no node."""
        return tuple(pod for pod in self.pods if not pod["spec"].get("nodeName"))

    @property
    def group_ref(self) -> Ref | None:
        """Reference of the PodGroup."""
        return Ref.of(self.group) if self.group else None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about the job. `reason` is a stable CamelCase word; `details` are lines, for example one per node.

    `commands` only look; `changes` change the cluster. `blocks` is False where the finding does not keep the job from
    starting.
    """

    reason: str
    problem: Problem
    objects: tuple[Ref, ...] = ()
    commands: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    blocks: bool = True


def pod_group_name(pod: Object) -> str:
    """Name of the Volcano PodGroup that the pod is a member of; empty where it names none."""
    return str((pod["metadata"].get("annotations") or {}).get(GROUP_NAME) or "")


def is_for_single_pods(group: Object) -> bool:
    """Whether Volcano created the PodGroup itself, for pods that name none: each of them is scheduled alone.

    Rule: PodgroupNamePrefix and createNormalPodPGIfNotExist of pkg/controllers/podgroup, v1.8.0 to v1.10.0.
    """
    name = str(group["metadata"]["name"])
    return name.startswith(_FOR_SINGLE_PODS) and bool(group["metadata"].get("ownerReferences"))


def finding(
    reason: str,
    found: str,
    *,
    needed: str,
    todo: str,
    objects: Sequence[Ref] = (),
    commands: Sequence[str] = (),
    changes: Sequence[str] = (),
    details: Sequence[str] = (),
    blocks: bool = True,
) -> Finding:
    """A finding from its three sentences: what was found, what is needed, and what to do."""
    problem = Problem(found, needed, todo)
    return Finding(reason, problem, tuple(objects), tuple(commands), tuple(changes), tuple(details), blocks)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer: the job's state, the findings in causal order, and what could not be read, each with a remedy."""

    situation: Situation
    state: State
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]

    @property
    def blocked(self) -> bool:
        """Whether a finding keeps the job from starting."""
        return any(item.blocks for item in self.findings)
