"""Trainer 2: its runtimes say how training jobs are ganged; there is no flag. Pure.

Read in Trainer v2.1.0, pkg/runtime/framework/plugins: `podGroupPolicy.volcano` or `.coscheduling` of a runtime makes a
PodGroup per TrainJob and marks the pods with it, but leaves their scheduler alone, so the pod templates must name it.
Its minMember counts the pods of all jobs of the runtime: where some are made when others have ended, such as after
those that fetch model and data, the gang would wait for itself. Such runtimes make none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.catalog.gangs import GangScheduler
from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object

__all__ = ["RUNTIME_KINDS", "gang_runtimes"]

RUNTIME_KINDS = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})


def gang_runtimes(objects: Iterable[Object], scheduler: GangScheduler) -> None:
    """Have the scheduler gang the jobs of every runtime whose pods are all made at once.

    Settings of its plugin that are there already stay.
    """
    for obj in objects:
        if obj["kind"] not in RUNTIME_KINDS:
            continue
        spec = obj["spec"]
        if later_jobs(spec["template"]["spec"]):
            spec.pop("podGroupPolicy", None)
            continue
        policy = spec.get("podGroupPolicy") or {}
        spec["podGroupPolicy"] = {scheduler.policy: policy.get(scheduler.policy) or {}}  # only one plugin may be set
        for pod in _pod_specs(spec):
            pod["schedulerName"] = scheduler.scheduler


def _pod_specs(runtime: Object) -> Iterator[Object]:
    for job in runtime["template"]["spec"]["replicatedJobs"]:
        yield job["template"]["spec"]["template"]["spec"]
