"""Rules about gangs whose pods are created one after the other: such a gang waits for pods that wait for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.gangs import is_gang
from kubeflow_volcano.validators.explain.model import VOLCANO
from kubeflow_volcano.validators.explain.placement.dynamic_resources import listed, mapping

_REASON = "GangWaitsForItself"
_GROUP_MINIMUM = "scheduling.volcano.sh/group-min-member"
_RUNTIMES = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})


def waits_for_itself(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """A gang that counts pods which are created only once others of it run or have ended.

    Rules: pkg/controllers/job and pkg/webhooks/admission/jobs/mutate of Volcano, v1.8.0 to v1.15.1 (dependsOn; where
    minAvailable is not set, it is the sum of the tasks' own, each all replicas where it is not set); pkg/controller of
    mpi-operator v0.4.0 to v0.6.0 (launcherCreationPolicy; a gang is the workers and the launcher where minAvailable is
    not set); pkg/runtime of Trainer v2.1.0 to v2.3.0 (the gang of a runtime is the pods of all its jobs).
    """
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
    return int((task.get("replicas") or 0) if least is None else least)


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


def rolling_update(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A Deployment whose gang is more pods than a rolling update creates before one of them is ready.

    Rules: pkg/controllers/podgroup of Volcano, v1.12.0 to v1.15.1 (a PodGroup for each ReplicaSet, with the minimum of
    the Deployment's annotation, which earlier versions do not read), and pkg/controller/deployment of Kubernetes, v1.22
    to v1.37 (how many pods a rolling update has at once).
    """
    if manifest.ref[:2] != ("apps/v1", "Deployment"):
        return
    meta, spec = manifest.obj["metadata"], manifest.obj["spec"]
    least = (meta.get("annotations") or {}).get(_GROUP_MINIMUM) or ""
    strategy = mapping(spec.get("strategy"))
    of_volcano = any(item.spec.get("schedulerName") == VOLCANO for item in manifest.templates)
    if not of_volcano or not least.isdecimal() or strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return
    replicas = 1 if spec.get("replicas") is None else int(spec["replicas"])
    rolling = mapping(strategy.get("rollingUpdate"))
    surge = _share(rolling.get("maxSurge"), replicas, math.ceil)
    gone = _share(rolling.get("maxUnavailable"), replicas, math.floor)
    at_once = min(replicas, surge + gone) or 1
    if at_once < int(least) <= replicas:
        yield flaw(
            "RollingUpdateStuck",
            f"{_GROUP_MINIMUM} is {least}, which Volcano reads from 1.12 on, and a rolling update creates {at_once} of "
            "the new pods before one of them is ready (maxSurge and maxUnavailable): the first change of the template "
            "never ends.",
            needed=f"maxSurge and maxUnavailable that are at least {least} together, or strategy Recreate.",
            todo="set maxSurge to 100%, or strategy.type to Recreate where there is no room for both generations.",
            blocks=False,
        )


def _share(value: object, replicas: int, rounded: Callable[[float], int]) -> int:
    """How many pods a number or a share such as 25%, which is the default, is of them."""
    text = "25%" if value is None else str(value)
    try:
        return rounded(int(text.removesuffix("%")) * replicas / 100) if text.endswith("%") else int(text)
    except ValueError:
        return replicas  # the API server refuses it


def flows(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A JobFlow that names a template twice, or whose flows wait for each other or for one that it does not have.

    Rules: pkg/controllers/jobflow of Volcano, v1.8.0 to v1.15.1 (the job of a flow has the flow's name, and is made
    when those of its targets have completed), and pkg/webhooks/admission/jobflows, v1.12.2 to v1.15.1.
    """
    if manifest.ref.group != "flow.volcano.sh" or manifest.kind != "JobFlow":
        return
    found = [item for item in listed(manifest.obj.get("spec"), "flows") if item.get("name")]
    names = [str(item["name"]) for item in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        yield flaw(
            "FlowNamedTwice",
            f"spec.flows names {few(twice)} more than once: all of one name are one job, and the JobFlow waits for "
            f"{len(names)}, so that it stays Running for ever.",
            needed="each name once in spec.flows.",
            todo="remove the repeated ones; to run a template twice, make a JobTemplate of another name.",
        )
    waits = {str(item["name"]): _targets(item) for item in found}
    if gone := sorted({name for targets in waits.values() for name in targets} - waits.keys()):
        yield flaw(
            "FlowTargetMissing",
            f"dependsOn names {few(gone)}, which is not in spec.flows, so that the job never is created.",
            needed="targets that are names in spec.flows.",
            todo="correct the target, or add it to spec.flows.",
            words=["vertex"],
        )
    if stuck := _stuck(waits):
        yield flaw(
            "FlowWaitsForItself",
            f"the flows {few(stuck)} wait for each other by dependsOn: none of their jobs is ever created. Volcano "
            "1.12 and later ones refuse such a JobFlow.",
            needed="flows of which none waits for itself, also by others.",
            todo="remove one of these targets from dependsOn.",
            words=["DAG"],
        )


def _targets(flow: Object) -> list[str]:
    found = mapping(flow.get("dependsOn")).get("targets")
    return [str(item) for item in found] if isinstance(found, list) else []


def _stuck(waits: Mapping[str, Sequence[str]]) -> list[str]:
    """Those that wait for themselves, by whichever others."""
    return [name for name in waits if name in _reached(name, waits)]


def _reached(name: str, waits: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    left = [*waits[name]]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += waits.get(each, ())
    return found
