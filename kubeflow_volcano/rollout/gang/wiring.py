"""What makes the operators of training jobs create gangs: the objects that say so, and the restart they may need.

The training operator has arguments for it, which depend on its version; Trainer has its runtimes. Both are patched
into the manifests like everything else. What manifests cannot do comes last: an operator looks for the PodGroup CRD
only once, at its start, so one that is older than the CRD is restarted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from kubeflow_volcano.apply.engine import Engine, refusal
from kubeflow_volcano.apply.restart import RESTARTED_FOR, restart
from kubeflow_volcano.catalog.gangs import GangScheduler, gang_scheduler
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import COMPONENT, era_of, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.gang.replicas import ADDED
from kubeflow_volcano.rollout.gang.trainer import RUNTIME_KINDS
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["OPERATORS", "deployment_of", "pod_groups_of", "restart_older_operators", "wiring_of"]

OPERATORS: Mapping[str, str] = {COMPONENT: COMPONENT, "trainer": "kubeflow-trainer-controller-manager"}
"""The name of each operator's Deployment, by component."""


def deployment_of(part: Component, objects: Iterable[Object]) -> Object:
    """The Deployment of an operator among the objects of its component.

    Raises:
        InvalidInput: it is not among them.
    """
    name = OPERATORS[part.name]
    for obj in objects:
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == name:
            return obj
    raise InvalidInput(
        Problem(
            f"manifests of {part.title} without its Deployment.",
            f"a Deployment {name}.",
            f"correct kubeflow_sources.{part.name}.",
        )
    )


def wiring_of(part: Component, objects: Sequence[Object]) -> tuple[Object, ...]:
    """The objects of an operator that say whether its jobs are gangs.

    Raises:
        InvalidInput: its Deployment is not among the objects.
    """
    deployment = deployment_of(part, objects)
    if part.name == COMPONENT:
        return deployment, *(obj for obj in objects if ADDED.items() <= (obj["metadata"].get("labels") or {}).items())
    return tuple(obj for obj in objects if obj["kind"] in RUNTIME_KINDS)


def pod_groups_of(scheduler: GangScheduler) -> Ref:
    """The CRD that an operator looks for once, at its start."""
    return Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", scheduler.podgroups)


def restart_older_operators(run: Engine, settings: Settings, operators: Iterable[tuple[Component, Object]]) -> None:
    """Restart each operator (with its declared Deployment) whose pods are older than the PodGroup CRD, and wait."""
    scheduler = gang_scheduler(settings.gang_scheduler)
    try:
        for part, declared in operators if scheduler else ():
            live = run.cluster.get(Ref.of(declared))
            if live and scheduler and _looks_once(part, declared, settings) and not _changes(run, live):
                _restart_if_older(run, live, scheduler)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _looks_once(part: Component, deployment: Object, settings: Settings) -> bool:
    """Whether its process looks for PodGroups only once: Trainer does, and the training operator since 1.6."""
    if part.name != COMPONENT:
        return True
    containers = deployment["spec"]["template"]["spec"]["containers"]
    image = next((item["image"] for item in containers if item["name"] == COMPONENT), "")
    return era_of(version_of_image(image) or settings.component(COMPONENT).version).missing_crd != "tolerated"


def _changes(run: Engine, deployment: Object) -> bool:
    """Whether check mode found a change of its pod template, which would restart its pods anyway."""
    ref = Ref.of(deployment)
    pairs = [(item.before, item.after) for item in run.result().outcomes if run.check and item.ref == ref]
    return any(old["spec"]["template"] != new["spec"]["template"] for old, new in pairs if old and new)


def _restart_if_older(run: Engine, deployment: Object, scheduler: GangScheduler) -> None:
    crd = run.cluster.get(pod_groups_of(scheduler))
    since = _established(crd) if crd else None
    if crd is None or since is None:
        return  # only in check mode, where the scheduler may still be to come
    cause = crd["metadata"]["uid"]
    # Times are whole seconds; the annotation identifies a pod that was restarted in the second of the CRD.
    old = [
        pod["metadata"]["name"]
        for pod in _pods(run.cluster, deployment)
        if _started(pod) <= since and (pod["metadata"].get("annotations") or {}).get(RESTARTED_FOR) != cause
    ]
    if not old:
        return
    run.progress(f"{', '.join(old)} started before the PodGroup CRD was established: restarting the operator")
    run.add_outcome(restart(run.cluster, deployment, cause, check=run.check))
    run.wait([Ref.of(deployment)])


def _pods(cluster: Cluster, deployment: Object) -> Sequence[Object]:
    """Its pods without those that are being deleted, or that are only a record, such as that of an eviction."""
    labels = ",".join(f"{key}={value}" for key, value in deployment["spec"]["selector"]["matchLabels"].items())
    found = cluster.list("v1", "Pod", namespace=deployment["metadata"]["namespace"], labels=labels).items
    ended = {"Failed", "Succeeded"}
    return [
        pod
        for pod in found
        if "deletionTimestamp" not in pod["metadata"] and (pod.get("status") or {}).get("phase") not in ended
    ]


def _established(crd: Object) -> datetime | None:
    found = conditions(crd).get("Established", {})
    return datetime.fromisoformat(found["lastTransitionTime"]) if found.get("status") == "True" else None


def _started(pod: Object) -> datetime:
    """When the kubelet took the pod; one that no kubelet has taken yet starts later than anything."""
    text = pod.get("status", {}).get("startTime")
    return datetime.fromisoformat(text) if text else datetime.max.replace(tzinfo=UTC)
