"""Rules about gangs whose pods are created one after the other: such a gang waits for pods that wait for it.

Rules: pkg/controllers/job and pkg/webhooks/admission/jobs/mutate of Volcano, v1.8.0 to v1.15.1 (dependsOn; where
minAvailable is not set, it is the sum of the tasks' own, each all replicas where it is not set); pkg/controller of
mpi-operator v0.4.0 to v0.6.0 (launcherCreationPolicy; a gang is the workers and the launcher where
minAvailable is not set); pkg/runtime of Trainer v2.1.0 to v2.3.0 (the gang of a runtime is the pods of all its jobs).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.gangs import is_gang

_REASON = "GangWaitsForItself"
_RUNTIMES = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})


def waits_for_itself(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A gang that counts pods which are created only once others of it run or have ended."""
    if manifest.ref.group == "batch.volcano.sh":
        yield from _of_volcano(manifest, facts)
    elif manifest.kind == "MPIJob":
        yield from _of_launcher(manifest)
    elif manifest.kind in _RUNTIMES and manifest.ref.group == "trainer.kubeflow.org":
        yield from _of_runtime(manifest)


def _of_volcano(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    job = manifest.job(facts)
    if job is None or not job.later:
        return
    least = job.min_available or sum(_least_of(task) for task in manifest.obj["spec"]["tasks"])
    if job.initial < least <= job.wanted:
        yield flaw(
            _REASON,
            f"the gang needs {least} pods together, but those of {', '.join(sorted(job.later))} are created only when "
            f"the tasks in dependsOn are running, which leaves {job.initial}: no pod ever runs.",
            needed=f"a minAvailable of at most {job.initial}, the pods of tasks without dependsOn.",
            todo=f"set spec.minAvailable to {job.initial} or less, or remove dependsOn.",
        )


def _least_of(task: Object) -> int:
    least = task.get("minAvailable")
    return int(task.get("replicas", 0) if least is None else least)


def _of_launcher(manifest: Manifest) -> Iterator[Flaw]:
    spec = manifest.obj["spec"]
    if spec.get("launcherCreationPolicy") != "WaitForWorkersReady" or not is_gang(manifest):
        return
    workers = sum(item.replicas for item in manifest.templates if item.role == "Worker")
    least = ((spec.get("runPolicy") or {}).get("schedulingPolicy") or {}).get("minAvailable") or workers + 1
    if least > workers:
        yield flaw(
            _REASON,
            f"the gang needs {least} pods together, but the launcher is created only when the {workers} workers are "
            "ready: no pod ever runs.",
            needed=f"a gang of the {workers} workers, or a launcher that does not wait for them.",
            todo=f"set spec.runPolicy.schedulingPolicy.minAvailable to {workers}, or launcherCreationPolicy to "
            "AtStartup.",
        )


def _of_runtime(manifest: Manifest) -> Iterator[Flaw]:
    spec = manifest.obj["spec"]
    later = later_jobs((spec.get("template") or {}).get("spec") or {})
    if spec.get("podGroupPolicy") and later:
        yield flaw(
            _REASON,
            "podGroupPolicy makes one gang of the pods of all its jobs, but those of "
            f"{', '.join(sorted(later))} are created only when earlier jobs are ready or have ended: no pod ever runs.",
            needed="a runtime of steps without podGroupPolicy, or one without steps.",
            todo="remove podGroupPolicy and schedulerName, or the jobs that others depend on.",
        )
