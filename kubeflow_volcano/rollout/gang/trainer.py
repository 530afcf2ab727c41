"""Gang scheduling in Trainer 2, which its runtimes enable instead of a flag. Pure.

Source: Trainer v2.1.0, pkg/runtime/framework/plugins. With `podGroupPolicy.volcano` or `.coscheduling` in a runtime,
Trainer creates a PodGroup per TrainJob and labels the pods, but does not set their scheduler, so the pod templates must
name it. minMember counts the pods of all jobs of the runtime. If some start only after others have ended (those that
download model and data), the gang would wait forever; such runtimes get no PodGroup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.catalog.gangs import GangScheduler
from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object

RUNTIME_KINDS = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})


def wire_runtimes(objects: Iterable[Object], scheduler: GangScheduler) -> None:
    """Enable gang scheduling in every runtime that starts all of its pods at once; disable it in the others.

    Existing settings of the scheduler's plugin stay.
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
