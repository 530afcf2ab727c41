"""Volcano's own jobs (vcjob), the queues and priority classes that they name, and what a record tells of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.probes.record import Member
from validators.scenarios.history import History
from validators.scenarios.jobs import SUCCEED_AFTER, replicas
from validators.scenarios.stand import Stand

__all__ = [
    "JOB",
    "QUEUE",
    "RESTART",
    "TASK",
    "Task",
    "finish",
    "held",
    "holds",
    "in_part",
    "pods",
    "priority_class",
    "queue",
    "running",
    "vcjob",
    "waiting",
]

JOB = ("batch.volcano.sh/v1alpha1", "Job")
QUEUE = ("scheduling.volcano.sh/v1beta1", "Queue")
TASK = "volcano.sh/task-spec"
"""Label of a pod: the task of its job."""
_JOB_NAME = "volcano.sh/job-name"

RESTART: Mapping[str, str] = {"event": "PodEvicted", "action": "RestartJob"}
"""Policy of a job: one pod that is deleted before it ended takes all others along, and all start again together."""


@dataclass(frozen=True, slots=True)
class Task:
    """Some pods of a job that are alike; each asks for so many GPUs."""

    name: str
    count: int
    gpus: int = 1
    policies: tuple[Mapping[str, str], ...] = ()


def vcjob(
    name: str,
    namespace: str,
    *tasks: Task,
    minimum: int | None = None,
    policies: Sequence[Mapping[str, str]] = (),
    scheduler: str = "volcano",
    priority: str = "",
    **spec: Any,
) -> Object:
    """A job of Volcano. `minimum` is how many of its pods start together, all unless it is given.

    `priority` names a class, which stands on the job, for Volcano, and on its pods, for the default scheduler.
    """
    everybody = sum(task.count for task in tasks)
    return {
        "apiVersion": JOB[0],
        "kind": JOB[1],
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulerName": scheduler,
            "minAvailable": everybody if minimum is None else minimum,
            **({"priorityClassName": priority} if priority else {}),
            **({"policies": [dict(item) for item in policies]} if policies else {}),
            **spec,
            "tasks": [_task(task, priority) for task in tasks],
        },
    }


def _task(task: Task, priority: str) -> Object:
    template = replicas(task.count, gpus=task.gpus)["template"]
    (container,) = template["spec"]["containers"]
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        **({"priorityClassName": priority} if priority else {}),
        "containers": [{"name": task.name, **container}],
    }
    policies = {"policies": [dict(item) for item in task.policies]} if task.policies else {}
    return {"name": task.name, "replicas": task.count, **policies, "template": template | {"spec": spec}}


def queue(name: str, weight: int = 1, **spec: Any) -> Object:
    """A queue; `spec` is what it says besides its weight."""
    return {"apiVersion": QUEUE[0], "kind": QUEUE[1], "metadata": {"name": name}, "spec": {"weight": weight, **spec}}


def priority_class(name: str, value: int) -> Object:
    """A class of Kubernetes' own, which Volcano goes by as well."""
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def pods(history: History, job: str) -> tuple[Member, ...]:
    """Pods of the job, also those that are gone."""
    return tuple(item for item in history.members.values() if item.labels.get(_JOB_NAME) == job)


def held(history: History, job: str) -> int:
    """How many pods of the job hold a node."""
    return holds(history.holding(), job)


def holds(names: Sequence[str], job: str) -> int:
    """How many of these names are of pods of the job, whose own name is the beginning of theirs."""
    return sum(name.startswith(f"{job}-") for name in names)


def running(history: History, job: str, size: int) -> bool:
    """Whether so many pods of the job are there and all run."""
    present = [item for item in pods(history, job) if not item.gone]
    return len(present) == size and all(item.phase == "Running" for item in present)


def waiting(history: History, job: str, size: int) -> bool:
    """Whether all of these pods of the job are there, the scheduler has looked at each, and none has a node."""
    present = [item for item in pods(history, job) if not item.gone]
    return len(present) == size and all(item.judged and not item.node for item in present)


def in_part(history: History, job: str, size: int) -> float:
    """The longest time in seconds in which some but not all pods of the job held nodes; the present one counts."""
    longest, since = 0.0, 0.0
    for at, names in (*history.holdings, (time.monotonic(), ())):
        if since:
            longest, since = max(longest, at - since), 0.0 if holds(names, job) in {0, size} else since
        elif 0 < holds(names, job) < size:
            since = at
    return round(longest, 2)


def finish(stand: Stand, history: History, job: str, task: str = "") -> None:
    """Let the simulated pods of the job, or of a task of it, end well.

    Raises:
        ApiError: the server does not take it.
    """
    for item in pods(history, job):
        if not item.gone and task in {"", item.labels.get(TASK)}:
            stand.cluster.patch(
                Ref("v1", "Pod", item.namespace, item.name), {"metadata": {"annotations": {SUCCEED_AFTER: "0s"}}}
            )
