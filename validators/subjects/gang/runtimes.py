"""Which ClusterTrainingRuntimes make gangs (Trainer 2.1 and later, pkg/runtime/framework/plugins)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object
from validators.core.facts import Facts
from validators.core.resources import CLUSTER_RUNTIMES

__all__ = ["Fault", "fault", "for_probe", "of_steps"]

_PUBLISHED = "trainer.kubeflow.org/framework"
"""Label of the runtimes that upstream publishes."""
_FAVOURITE = "torch-distributed"


@dataclass(frozen=True, slots=True)
class Fault:
    """What a runtime lacks; `half` where only one of policy and scheduler is there, `published` for upstream's."""

    text: str
    half: bool
    published: bool


def fault(runtime: Object, gang: GangScheduler = VOLCANO) -> Fault | None:
    """What keeps the runtime's jobs from being gangs, or makes gangs of those that can be none; None when nothing does.

    Trainer counts the pods of all steps into one gang, which waits for those that are made when others have ended.
    """
    if of_steps(runtime):
        text = "makes pods in steps and has a podGroupPolicy, so that its gangs wait for themselves"
        wrong = runtime["spec"].get("podGroupPolicy")
        return Fault(text, half=True, published=_published(runtime)) if wrong else None
    policy = gang.policy in (runtime["spec"].get("podGroupPolicy") or {})
    others = sorted({pod.get("schedulerName") or "the default scheduler" for pod in _pods(runtime)} - {gang.scheduler})
    if policy and not others:
        return None
    missing = [] if policy else [f"has no podGroupPolicy.{gang.policy}"]
    missing += [f"leaves pods to {', '.join(others)}"] if others else []
    return Fault(" and ".join(missing), half=policy or not others, published=_published(runtime))


def of_steps(runtime: Object) -> bool:
    """Whether some of its pods are made when others are ready or have ended, as after those that fetch a model."""
    return bool(later_jobs(runtime["spec"]["template"]["spec"]))


def _published(runtime: Object) -> bool:
    return _PUBLISHED in (runtime["metadata"].get("labels") or {})


def for_probe(facts: Facts) -> Object | None:
    """A runtime of the cluster that makes gangs and has one kind of pods, which run as long as they like.

    MPI's launcher logs in to its nodes, which takes more than a pause.
    """
    fit = [
        item
        for item in facts.objects.get(CLUSTER_RUNTIMES, ())
        if fault(item, facts.expectations.gang) is None
        and len([*_pods(item)]) == 1
        and "mpi" not in (item["spec"].get("mlPolicy") or {})
    ]
    fit.sort(key=lambda item: (item["metadata"]["name"] != _FAVOURITE, item["metadata"]["name"]))
    return fit[0] if fit else None


def _pods(runtime: Object) -> Iterator[Object]:
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        yield job["template"]["spec"]["template"]["spec"]
