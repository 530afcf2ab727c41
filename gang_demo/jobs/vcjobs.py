"""Volcano's own jobs (vcjob), their queues and priority classes, and the end of their pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.gang_demo.jobs.jobs import SUCCEED_AFTER, TASK, VCJOB, replicas
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import Stand

QUEUE = ("scheduling.volcano.sh/v1beta1", "Queue")


@dataclass(frozen=True, slots=True)
class Task:
    """Identical pods of a job, each of which requests `gpus`."""

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
    """A job of Volcano. `minimum` of its pods start together, all by default.

    `priority` names a priority class; it is set on the job, for Volcano, and on its pods, for the default scheduler.
    """
    all_pods = sum(task.count for task in tasks)
    return {
        "apiVersion": VCJOB[0],
        "kind": VCJOB[1],
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulerName": scheduler,
            "minAvailable": all_pods if minimum is None else minimum,
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
    """A queue; `spec` has the fields other than its weight."""
    return {"apiVersion": QUEUE[0], "kind": QUEUE[1], "metadata": {"name": name}, "spec": {"weight": weight, **spec}}


def priority_class(name: str, value: int) -> Object:
    """A priority class of Kubernetes, which Volcano uses too."""
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def finish(stand: Stand, history: History, job: str, task: str = "") -> None:
    """Let the simulated pods of the job, or of one of its tasks, succeed.

    Raises:
        ApiError: the API server refuses it.
    """
    for item in history.present_of(job):
        if task in {"", item.labels.get(TASK)}:
            stand.cluster.patch(
                Ref("v1", "Pod", item.namespace, item.name), {"metadata": {"annotations": {SUCCEED_AFTER: "0s"}}}
            )
