"""Trainer 2.1 and later: its runtimes say how training jobs are ganged; there is no flag. Pure.

Read in Trainer v2.1.0, pkg/runtime/framework/plugins/volcano: `podGroupPolicy.volcano` of a runtime makes a PodGroup
per TrainJob and marks the pods with it, but leaves their scheduler alone, so the pod templates must name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.objects import Object

__all__ = ["RUNTIME_KINDS", "gang_runtimes"]

RUNTIME_KINDS = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})

_SCHEDULER = "volcano"


def gang_runtimes(objects: Iterable[Object]) -> None:
    """Have Volcano gang the jobs of every runtime; settings of its plugin that are there already stay."""
    for obj in objects:
        if obj["kind"] not in RUNTIME_KINDS:
            continue
        spec = obj["spec"]
        policy = spec.get("podGroupPolicy") or {}
        spec["podGroupPolicy"] = {"volcano": policy.get("volcano") or {}}  # only one plugin may be set
        for pod in _pod_specs(spec):
            pod["schedulerName"] = _SCHEDULER


def _pod_specs(runtime: Object) -> Iterator[Object]:
    for job in runtime["template"]["spec"]["replicatedJobs"]:
        yield job["template"]["spec"]["template"]["spec"]
