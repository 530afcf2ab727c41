"""The operators of training jobs, wired: told who gangs, the CRD before the process, the rights to use it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kubeflow_volcano.apply.engine import Engine, refusal
from kubeflow_volcano.apply.restart import RESTARTED_FOR, restart
from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler, gang_scheduler
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import era_of, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.gang.companions import retire
from kubeflow_volcano.rollout.gang.pod_group_rights import PodGroupRights
from kubeflow_volcano.rollout.gang.replicas import ADDED
from kubeflow_volcano.rollout.gang.trainer import RUNTIME_KINDS
from kubeflow_volcano.rollout.patches.operator_memory import keep_higher_limit
from kubeflow_volcano.rollout.patches.table import OPERATOR
from kubeflow_volcano.rollout.run import engine_for
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.state.lock import Lease
from kubeflow_volcano.rollout.state.namespace import ensure_namespace

__all__ = ["Wiring", "pod_groups_of", "wire_gang", "wiring_of"]

_TRAINER = "trainer"
_TRAINER_MANAGER = "kubeflow-trainer-controller-manager"
_VERBS = {
    OPERATOR: ("create", "delete", "get", "list", "patch", "update", "watch"),
    _TRAINER: ("create", "get", "list", "patch", "update", "watch"),
}
"""What each operator does with PodGroups, by its component."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """The objects that make an operator gang its jobs, and its Deployment."""

    part: Component
    objects: tuple[Object, ...]
    deployment: Object


def wire_gang(cluster: Cluster, settings: Settings, *, check: bool, progress: Progress) -> ApplyResult:
    """Have the chosen operators gang their jobs as the settings ask for, and see that it takes effect.

    The training operator is told by arguments that its version wants, the Trainer by its runtimes. With a gang
    scheduler: its CRDs are established first; a running operator that is older than the PodGroup CRD is restarted, for
    it would not see PodGroups or gang anything; and where it may not use them, it is allowed to. With `none` all that
    goes.

    Raises:
        InvalidInput: sources or versions do not allow it, or the scheduler is not there; nothing was changed.
        ProblemsError: the API server refused what is asked before the first change.
    """
    parts = [part for part in settings.components if part.name in _VERBS]
    if not parts:
        progress("no operator of training jobs is chosen: nothing to wire")
        return ApplyResult((), (), 0.0)
    try:
        require_kubernetes(settings, cluster.version["gitVersion"])
        wirings = [wiring_of(part, desired(settings, (part,), progress).parts[part.name]) for part in parts]
        for wiring in wirings:
            keep_higher_limit(cluster, wiring.objects, OPERATOR, wiring.part.version)
        objects = {wiring.part.name: _foreseeable(cluster, wiring) if check else wiring.objects for wiring in wirings}
        run = engine_for(cluster, settings, parts, objects, check=check, progress=progress)
        if not check:
            ensure_namespace(cluster, settings.namespace_labels)
        with contextlib.nullcontext() if check else Lease(cluster, progress) as lease:
            run.lost = lease.lost if lease else run.lost
            if run.apply() and run.finish():
                retire(run, [obj for item in wirings for obj in item.objects])
                if scheduler := gang_scheduler(settings.gang_scheduler):
                    _see_that_it_takes_effect(run, settings, wirings, scheduler)
                else:
                    _take_rights_back(run, wirings)
    except ApiError as error:
        raise ProblemsError(refusal(cluster, error)) from error
    return run.result()


def pod_groups_of(scheduler: GangScheduler) -> Ref:
    """The CRD that an operator looks for once, at its start."""
    return Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", scheduler.podgroups)


def wiring_of(part: Component, objects: Sequence[Object]) -> Wiring:
    """What is to be wired of an operator's objects.

    Raises:
        InvalidInput: its Deployment is not among them.
    """
    name = OPERATOR if part.name == OPERATOR else _TRAINER_MANAGER
    deployment = next((obj for obj in objects if obj["kind"] == "Deployment" and obj["metadata"]["name"] == name), None)
    if deployment is None:
        raise InvalidInput(
            Problem(
                f"manifests of {part.title} without its Deployment.",
                f"a Deployment {name}.",
                f"correct kubeflow_sources.{part.name}.",
            )
        )
    if part.name == OPERATOR:
        return Wiring(part, (deployment, *(obj for obj in objects if _stands_beside(obj))), deployment)
    return Wiring(part, tuple(obj for obj in objects if obj["kind"] in RUNTIME_KINDS), deployment)


def _stands_beside(obj: Object) -> bool:
    """Whether it was put beside upstream's objects, for an operator of several pods."""
    return ADDED.items() <= (obj["metadata"].get("labels") or {}).items()


def _foreseeable(cluster: Cluster, wiring: Wiring) -> tuple[Object, ...]:
    """The objects to wire that are there; an operator that is still to come comes wired, and is told where it comes."""
    there = cluster.get(Ref.of(wiring.deployment)) is not None
    return wiring.objects if there else ()


def _see_that_it_takes_effect(
    run: Engine, settings: Settings, wirings: Sequence[Wiring], scheduler: GangScheduler
) -> None:
    try:
        for wiring in wirings:
            live = run.cluster.get(Ref.of(wiring.deployment))
            if live is None:
                continue
            _allow(run, _rights(wiring.part, live, scheduler))
            if _looks_at_start(wiring, settings) and not _starts_anew(run, live):
                _restart_if_older(run, live, scheduler)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _allow(run: Engine, rights: PodGroupRights) -> None:
    missing = rights.missing(run.cluster)
    if not missing:
        return
    run.progress(f"{rights.user} may not {', '.join(missing)} podgroups.{rights.group}, and is allowed to")
    try:
        for outcome in rights.grant(run.cluster, missing, check=run.check):
            run.add_outcome(outcome)
    except ProblemsError as error:
        for problem in error.problems:
            run.add_problem(problem)


def _take_rights_back(run: Engine, wirings: Sequence[Wiring]) -> None:
    try:
        for wiring in wirings:
            rights = _rights(wiring.part, wiring.deployment, VOLCANO)  # what they are on, nobody asks any longer
            for outcome in rights.withdraw(run.cluster, check=run.check):
                run.progress(f"{outcome.ref} goes, because nothing is ganged any longer")
                run.add_outcome(outcome)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _rights(part: Component, deployment: Object, scheduler: GangScheduler) -> PodGroupRights:
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
    return PodGroupRights(part.name, deployment["metadata"]["namespace"], account, scheduler.group, _VERBS[part.name])


def _looks_at_start(wiring: Wiring, settings: Settings) -> bool:
    """Whether its process looks for PodGroups only once; the Trainer does, as the operator does since 1.6."""
    if wiring.part.name == _TRAINER:
        return True
    containers = wiring.deployment["spec"]["template"]["spec"]["containers"]
    image = next((item["image"] for item in containers if item["name"] == OPERATOR), "")
    return era_of(version_of_image(image) or settings.component(OPERATOR).version).missing_crd != "tolerated"


def _starts_anew(run: Engine, deployment: Object) -> bool:
    """Whether check mode has found a change of its pods, which would start them anew by itself."""
    ref = Ref.of(deployment)
    texts = [(item.before, item.after) for item in run.result().outcomes if run.check and item.ref == ref]
    return any(old["spec"]["template"] != new["spec"]["template"] for old, new in texts if old and new)


def _restart_if_older(run: Engine, deployment: Object, scheduler: GangScheduler) -> None:
    crd = run.cluster.get(pod_groups_of(scheduler))
    since = _since(crd) if crd else None
    if crd is None or since is None:
        return  # only in check mode, where the scheduler may still be to come
    cause = crd["metadata"]["uid"]
    # Times are whole seconds: a pod that was started anew in the second of the CRD is told by its annotation.
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
    labels = ",".join(f"{key}={value}" for key, value in deployment["spec"]["selector"]["matchLabels"].items())
    found = cluster.list("v1", "Pod", namespace=deployment["metadata"]["namespace"], labels=labels).items
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"] and not _ended(pod)]


def _ended(pod: Object) -> bool:
    """Whether it is only a record, such as that of an evicted pod, which nobody starts again."""
    return (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}


def _since(crd: Object) -> datetime | None:
    established = conditions(crd).get("Established", {})
    return _time(established["lastTransitionTime"]) if established.get("status") == "True" else None


def _started(pod: Object) -> datetime:
    """When the kubelet took the pod; one that it has not taken yet will start later than anything."""
    text = pod.get("status", {}).get("startTime")
    return _time(text) if text else datetime.max.replace(tzinfo=UTC)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
