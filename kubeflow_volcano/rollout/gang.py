"""The training operator and Volcano, wired: the right arguments, the CRD before the process, the rights to use it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kubeflow_volcano.catalog.operator import era_of, version_of_image
from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.engine import Engine, refused
from kubeflow_volcano.rollout.lease import Lease
from kubeflow_volcano.rollout.matrix import require_kubernetes
from kubeflow_volcano.rollout.patches import OPERATOR
from kubeflow_volcano.rollout.restart import restart
from kubeflow_volcano.rollout.result import RolloutResult
from kubeflow_volcano.rollout.run import engine_for
from kubeflow_volcano.rollout.settings import Settings

__all__ = ["POD_GROUPS", "wire_gang"]

POD_GROUPS = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "podgroups.scheduling.volcano.sh")
"""The CRD that the operator looks for once, at its start."""

_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


def wire_gang(cluster: Cluster, settings: Settings, *, check: bool, progress: Progress) -> RolloutResult:
    """Give the operator the gang arguments that the settings and its version ask for, and see that they take effect.

    With Volcano: its CRDs are established first; a running operator that is older than the PodGroup CRD is restarted,
    for it would not see PodGroups or gang anything; and it must be allowed to use them. With `none` the arguments go.

    Raises:
        InvalidInput: sources or versions do not allow it, or Volcano is not there; nothing was changed.
        ProblemsError: the API server refused what is asked before the first change.
    """
    part = settings.component(OPERATOR)
    try:
        require_kubernetes(settings, cluster.version["gitVersion"])
        deployment = next(
            obj
            for obj in desired(settings, (part,), progress).parts[OPERATOR]
            if obj["kind"] == "Deployment" and obj["metadata"]["name"] == OPERATOR
        )
        run = engine_for(cluster, settings, (part,), {OPERATOR: (deployment,)}, check=check, progress=progress)
        with contextlib.nullcontext() if check else Lease(cluster, progress) as lease:
            run.lost = lease.lost if lease else run.lost
            _wire(run, settings, deployment)
    except ApiError as error:
        raise ProblemsError(refused(cluster, error)) from error
    return run.result()


def _wire(run: Engine, settings: Settings, deployment: Object) -> None:
    if not (run.apply() and run.finish()) or settings.gang_scheduler != "volcano":
        return
    try:
        live = run.cluster.get(Ref.of(deployment))
        if live is None:
            return
        for problem in _missing_rights(run.cluster, live):
            run.fail(problem)
        if _looks_at_start(live, settings) and not (run.check and run.result().changed):  # a change restarts it anyway
            _restart_if_older(run, live)
    except ApiError as error:
        run.fail(refused(run.cluster, error))


def _looks_at_start(deployment: Object, settings: Settings) -> bool:
    container = next(item for item in deployment["spec"]["template"]["spec"]["containers"] if item["name"] == OPERATOR)
    version = version_of_image(container["image"]) or settings.release.operator_version
    return era_of(version).missing_crd != "tolerated"


def _restart_if_older(run: Engine, deployment: Object) -> None:
    crd = run.cluster.get(POD_GROUPS)
    since = _since(crd) if crd else None
    if crd is None or since is None:
        return  # only in check mode, where Volcano may still be to come
    old = [pod["metadata"]["name"] for pod in _pods(run.cluster, deployment) if _started(pod) <= since]
    if not old:
        return
    run.progress(f"{', '.join(old)} started before the PodGroup CRD was established: restarting the operator")
    run.note(restart(run.cluster, deployment, crd["metadata"]["uid"], check=run.check))
    run.wait([Ref.of(deployment)])


def _pods(cluster: Cluster, deployment: Object) -> Sequence[Object]:
    labels = ",".join(f"{key}={value}" for key, value in deployment["spec"]["selector"]["matchLabels"].items())
    found = cluster.list("v1", "Pod", namespace=deployment["metadata"]["namespace"], labels=labels).items
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def _since(crd: Object) -> datetime | None:
    established = conditions(crd).get("Established", {})
    return _time(established["lastTransitionTime"]) if established.get("status") == "True" else None


def _started(pod: Object) -> datetime:
    """When the kubelet took the pod; one that it has not taken yet will start later than anything."""
    text = pod.get("status", {}).get("startTime")
    return _time(text) if text else datetime.max.replace(tzinfo=UTC)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _missing_rights(cluster: Cluster, deployment: Object) -> Iterator[Problem]:
    namespace = deployment["metadata"]["namespace"]
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
    user = f"system:serviceaccount:{namespace}:{account}"
    missing = [verb for verb in _VERBS if not _allowed(cluster, user, verb)]
    if missing:
        yield Problem(
            f"{user} may not {', '.join(missing)} podgroups.scheduling.volcano.sh.",
            "the rule for PodGroups in the operator's ClusterRole, as upstream ships it.",
            f"see kubectl auth can-i {missing[0]} podgroups.scheduling.volcano.sh -A --as {user}, and roll out "
            f"{OPERATOR} again.",
        )


def _allowed(cluster: Cluster, user: str, verb: str) -> bool:
    review: Object = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {"name": ""},
        "spec": {
            "user": user,
            "groups": [
                "system:authenticated",
                "system:serviceaccounts",
                f"system:serviceaccounts:{user.split(':')[2]}",
            ],
            "resourceAttributes": {"group": "scheduling.volcano.sh", "resource": "podgroups", "verb": verb},
        },
    }
    answer: bool = cluster.create(review)["status"]["allowed"]
    return answer
