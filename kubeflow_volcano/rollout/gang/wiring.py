"""The gang wiring of training operators: the objects that enable gang scheduling, and the restart it may need.

Flags of the training operator, which depend on its version, and runtimes of Trainer enable it; both are patched into
the manifests. An operator looks for the PodGroup CRD only at its start, so a run restarts one that is older than the
CRD as its last step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.restart import RESTARTED_FOR, restart
from kubeflow_volcano.catalog.gangs import GangScheduler
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import COMPONENT, era_of, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, has_ended
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.gang.pods import pods_of
from kubeflow_volcano.rollout.gang.replicas import companions_of
from kubeflow_volcano.rollout.gang.trainer import RUNTIME_KINDS

OPERATORS: Mapping[str, str] = {COMPONENT: COMPONENT, "trainer": "kubeflow-trainer-controller-manager"}
"""The name of each operator's Deployment, by component."""


def operator_deployment(part: Component, objects: Iterable[Object]) -> Object:
    """The Deployment of an operator among the objects of its component.

    Raises:
        InvalidInput: the objects lack it.
    """
    name = OPERATORS[part.name]
    for obj in objects:
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == name:
            return obj
    raise InvalidInput.problem(
        f"the manifests of {part.title} lack its Deployment.",
        f"a Deployment {name}.",
        f"correct kubeflow_sources.{part.name}.",
    )


def wiring_objects(part: Component, objects: Sequence[Object]) -> tuple[Object, ...]:
    """The objects of an operator that enable or disable gang scheduling.

    Raises:
        InvalidInput: the objects lack its Deployment.
    """
    deployment = operator_deployment(part, objects)
    if part.name == COMPONENT:
        companions = {(ref.kind, ref.name) for ref in companions_of(deployment)}
        return deployment, *(obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) in companions)
    return tuple(obj for obj in objects if obj["kind"] in RUNTIME_KINDS)


def podgroup_crd(scheduler: GangScheduler) -> Ref:
    """The CRD that an operator looks for at its start."""
    return Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", scheduler.podgroups)


def restart_older_operators(
    run: Engine, scheduler: GangScheduler | None, operators: Iterable[tuple[Component, Object]]
) -> None:
    """Restart each operator (given with its declared Deployment) whose pods are older than the PodGroup CRD; wait."""
    try:
        for part, declared in operators if scheduler else ():
            live = run.cluster.get(Ref.of(declared))
            if live and scheduler and _checks_crd_once(part, declared) and not _is_changed(run, live):
                _restart_if_older(run, live, scheduler)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _checks_crd_once(part: Component, deployment: Object) -> bool:
    """Whether it looks for the CRD only at its start: Trainer, and the training operator since 1.6."""
    if part.name != COMPONENT:
        return True
    containers = deployment["spec"]["template"]["spec"]["containers"]
    image = next((item["image"] for item in containers if item["name"] == COMPONENT), "")
    return era_of(version_of_image(image) or part.version).missing_crd != "tolerated"


def _is_changed(run: Engine, deployment: Object) -> bool:
    """Whether check mode found a change of its pod template, which recreates its pods anyway."""
    ref = Ref.of(deployment)
    pairs = [(item.before, item.after) for item in run.result().outcomes if run.check and item.ref == ref]
    return any(old["spec"]["template"] != new["spec"]["template"] for old, new in pairs if old and new)


def _restart_if_older(run: Engine, deployment: Object, scheduler: GangScheduler) -> None:
    crd = run.cluster.get(podgroup_crd(scheduler))
    since = _established(crd) if crd else None
    if crd is None or since is None:
        return  # only in check mode, if the scheduler is not installed yet
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
    """Its pods, except those that are terminating or have ended (evicted ones, for example)."""
    return [
        pod for pod in pods_of(cluster, deployment) if "deletionTimestamp" not in pod["metadata"] and not has_ended(pod)
    ]


def _established(crd: Object) -> datetime | None:
    condition = conditions(crd).get("Established", {})
    return datetime.fromisoformat(condition["lastTransitionTime"]) if condition.get("status") == "True" else None


def _started(pod: Object) -> datetime:
    """When the kubelet accepted the pod; the maximum if none has accepted it yet."""
    text = pod.get("status", {}).get("startTime")
    return datetime.fromisoformat(text) if text else datetime.max.replace(tzinfo=UTC)
