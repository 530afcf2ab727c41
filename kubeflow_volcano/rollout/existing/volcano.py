"""What gang scheduling needs of a Volcano that others installed: its scheduler, its kinds, its configuration."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import assess
from kubeflow_volcano.cluster.volcano import (
    Unusable,
    find_schedulers,
    gang_faults,
    read_configuration,
    scheduler_names,
)
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.settings import Settings

_KINDS = ("PodGroup", "Queue")
_NAMED = "Volcano, which kubeflow_existing names,"


def volcano_problems(cluster: Cluster, settings: Settings) -> Iterator[Problem]:
    """What keeps the cluster's own Volcano from placing the pods of a training job all together.

    Raises:
        ApiError: something cannot be read.
    """
    served = cluster.kinds(VOLCANO.api_version)
    if missing := [kind for kind in _KINDS if kind not in served]:
        yield Problem(
            f"{_NAMED} does not serve {' and '.join(missing)} of {VOLCANO.api_version}.",
            "the kinds of which training operators make gangs.",
            "install or upgrade it as its owner does, or remove volcano from kubeflow_existing.",
        )
    namespace = settings.volcano_namespace
    schedulers = find_schedulers(cluster, namespace)
    if len(schedulers) == 1:
        yield from _of_scheduler(cluster, settings, schedulers[0])
        return
    places = ", ".join(str(Ref.of(item)) for item in schedulers)
    where = f" in namespace {namespace}" if namespace else ""
    yield Problem(
        f"{_NAMED} has {len(schedulers)} schedulers{where}{': ' if schedulers else ''}{places}.",
        "one Deployment with the label app=volcano-scheduler, or named volcano-scheduler in volcano_namespace.",
        "set volcano_namespace to the namespace of the one that schedules training jobs."
        if schedulers or not namespace
        else "correct volcano_namespace, or remove it: the scheduler is found by its label.",
    )


def _of_scheduler(cluster: Cluster, settings: Settings, scheduler: Object) -> Iterator[Problem]:
    ref, state = Ref.of(scheduler), assess(scheduler)
    if not state.ready:
        yield Problem(
            f"{ref}, the scheduler of the cluster's own Volcano, is not ready: {state.message}",
            "a scheduler that runs; without it no training job starts.",
            f"see why: kubectl describe {ref.for_kubectl()}; then run again.",
        )
    if VOLCANO.scheduler not in (names := scheduler_names(scheduler)):
        yield Problem(
            f"{ref} places the pods with schedulerName {', '.join(names)}.",
            f"schedulerName {VOLCANO.scheduler}, which training operators write into the pods of gangs.",
            f"add --scheduler-name={VOLCANO.scheduler} to its arguments as its owner does.",
        )
    known = (*settings.scheduling.extra_plugins, *settings.volcano.scheduler_plugins)
    configuration = read_configuration(scheduler, cluster.get, known)
    if isinstance(configuration, Unusable):
        yield Problem(configuration.message, "the scheduler's configuration with plugin gang.", configuration.todo)
        return
    if faults := [text for _, text in gang_faults(configuration)]:
        yield Problem(
            f"{configuration.ref}, key {configuration.key}: {'; '.join(faults)}.",
            "the plugin gang with its checks: a gang starts only when minMember pods fit.",
            "correct it as its owner does (on a managed service in the add-on's settings); then run again.",
        )
