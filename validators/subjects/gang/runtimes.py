"""ClusterTrainingRuntimes with gang scheduling (Trainer 2.1 and later, pkg/runtime/framework/plugins)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.catalog.operator import later_jobs
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES
from kubeflow_volcano.validators.subjects.kubectl import patch, pointer

_PUBLISHED = "trainer.kubeflow.org/framework"
"""Label of upstream's runtimes."""
_FAVOURITE = "torch-distributed"


@dataclass(frozen=True, slots=True)
class Fault:
    """What a runtime lacks; `half` if it has only one of policy and scheduler, `published` if it is upstream's."""

    text: str
    half: bool
    published: bool


def fault(runtime: Object, gang: GangScheduler = VOLCANO) -> Fault | None:
    """Why the runtime's jobs are not gang-scheduled, or must not be; None if there is no fault.

    Trainer counts the pods of all steps into one gang, which then waits for pods of later steps forever.
    """
    if of_steps(runtime):
        text = "creates pods in steps and has a podGroupPolicy, so its gangs wait for their own later pods"
        wrong = runtime["spec"].get("podGroupPolicy")
        return Fault(text, half=True, published=_published(runtime)) if wrong else None
    policy = gang.policy in (runtime["spec"].get("podGroupPolicy") or {})
    others = sorted({pod.get("schedulerName") or "the default scheduler" for pod in _pods(runtime)} - {gang.scheduler})
    if policy and not others:
        return None
    missing = [] if policy else [f"has no podGroupPolicy.{gang.policy}"]
    missing += [f"leaves its pods to {', '.join(others)}"] if others else []
    return Fault(" and ".join(missing), half=policy or not others, published=_published(runtime))


def correction(runtime: Object, gang: GangScheduler = VOLCANO) -> str:
    """The command that removes the fault of a runtime."""
    if of_steps(runtime):
        return _patch(runtime, [{"op": "remove", "path": pointer("spec", "podGroupPolicy")}])
    where = ("spec", "template", "spec", "replicatedJobs")
    below = ("template", "spec", "template", "spec", "schedulerName")
    jobs = range(len(runtime["spec"]["template"]["spec"]["replicatedJobs"]))
    known = (runtime["spec"].get("podGroupPolicy") or {}).get(gang.policy) or {}
    policy = {"op": "add", "path": pointer("spec", "podGroupPolicy"), "value": {gang.policy: known}}
    names = [{"op": "add", "path": pointer(*where, index, *below), "value": gang.scheduler} for index in jobs]
    return _patch(runtime, [policy, *names])


def _patch(runtime: Object, operations: list[dict[str, Any]]) -> str:
    ref = Ref.of(runtime)
    return patch(f"{ref.kind.lower()}s.trainer.kubeflow.org", ref, operations)


def of_steps(runtime: Object) -> bool:
    """Whether some of its pods are created after others are ready or have ended, such as after a model download."""
    return bool(later_jobs(runtime["spec"]["template"]["spec"]))


def _published(runtime: Object) -> bool:
    return _PUBLISHED in (runtime["metadata"].get("labels") or {})


def for_probe(facts: Facts) -> Object | None:
    """A runtime with gang scheduling and one kind of pods that a pause container can replace; None if there is none.

    MPI's launcher logs in to its nodes, so it cannot be replaced.
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
