"""Several replicas with leader election, for Volcano's Deployments and the training operator.

Rules: cmd/*/app/options and main.go of Volcano v1.8.2, v1.10.0 (scheduler and controllers know --leader-elect, and
their ClusterRoles allow Leases), the manifests of v1.12.2 and v1.15.1; cmd/training-operator.v1/main.go of v1.5.0 to
v1.8.1, whose ClusterRole does not allow Leases.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.removing.managed import delete_owned
from kubeflow_volcano.catalog.operator import COMPONENT, era_of, version_of_image
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.gang.flags import set_flags
from kubeflow_volcano.rollout.settings.volcano import leader_problem

COMPANION_LABELS = {"app.kubernetes.io/managed-by": "kubeflow-volcano"}
"""Labels of companions: objects that a roll-out adds to a Deployment of upstream."""

_ELECT = {"--leader-elect": "true"}
_LEADERS = frozenset({"volcano-scheduler", "volcano-controllers"})
_VOLCANO = _LEADERS | {"volcano-admission"}
_ELECTION = "-leader-election"
_RBAC = "rbac.authorization.k8s.io"


def replicate_volcano(objects: list[Object], replicas: int) -> None:
    """Set the replicas of scheduler, controllers and admission; the first two elect a leader."""
    if replicas == 1:
        return
    for deployment in _deployments(objects, _VOLCANO):
        if deployment["metadata"]["name"] in _LEADERS:
            set_flags(deployment["spec"]["template"]["spec"]["containers"][0], _ELECT, first=True)
        objects.append(_spread(deployment, replicas))


def replicate_operator(objects: list[Object], release_version: str, replicas: int) -> None:
    """Set the replicas of the operator, and let it elect a leader with a Lease.

    Raises:
        InvalidInput: this version of the operator cannot elect a leader.
    """
    if replicas == 1:
        return
    for deployment in _deployments(objects, frozenset({COMPONENT})):
        spec = deployment["spec"]["template"]["spec"]
        container = next(item for item in spec["containers"] if item["name"] == COMPONENT)
        version = version_of_image(container["image"]) or release_version
        if not era_of(version).elects_leader:
            raise InvalidInput(leader_problem(replicas, version))
        set_flags(container, _ELECT, first=False)
        objects += [_spread(deployment, replicas), *_lease_rbac(deployment)]


def companions_of(deployment: Object) -> Iterator[Ref]:
    """The companions of a Deployment that this module replicates; none for other objects."""
    meta = deployment["metadata"]
    if deployment["kind"] != "Deployment" or meta["name"] not in _VOLCANO | {COMPONENT}:
        return
    yield Ref("policy/v1", "PodDisruptionBudget", meta["namespace"], meta["name"])
    if meta["name"] == COMPONENT:
        for kind in ("Role", "RoleBinding"):
            yield Ref(f"{_RBAC}/v1", kind, meta["namespace"], f"{COMPONENT}{_ELECTION}")


def delete_unused_companions(run: Engine, objects: Iterable[Object]) -> None:
    """Delete the PodDisruptionBudget and leader-election RBAC of each Deployment that is declared without them.

    Check mode only reports them. Objects without this project's label and field manager stay.
    """
    declared = tuple(objects)
    selector = ",".join(f"{key}={value}" for key, value in COMPANION_LABELS.items())
    former = {ref for obj in declared for ref in companions_of(obj)} - {Ref.of(obj) for obj in declared}
    try:
        for version, kind in sorted({(ref.api_version, ref.kind) for ref in former}):
            for live in run.cluster.list(version, kind, labels=selector).items:
                if Ref.of(live) in former and (outcome := delete_owned(run.cluster, live, check=run.check)):
                    run.add_outcome(outcome)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _deployments(objects: Sequence[Object], names: frozenset[str]) -> list[Object]:
    return [obj for obj in objects if obj["kind"] == "Deployment" and obj["metadata"]["name"] in names]


def _spread(deployment: Object, replicas: int) -> Object:
    """Set replicas and spread them over nodes; returns a PodDisruptionBudget that limits drains to one pod."""
    spec = deployment["spec"]
    spec["replicas"] = replicas
    labels = {"matchLabels": copy.deepcopy(spec["selector"]["matchLabels"])}
    pods = spec["template"]["spec"]
    if "topologySpreadConstraints" not in pods and "affinity" not in pods:
        pods["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": copy.deepcopy(labels),
            }
        ]
    budget = {"maxUnavailable": 1, "selector": labels}
    return _companion(deployment, "policy/v1", "PodDisruptionBudget", deployment["metadata"]["name"], spec=budget)


def _lease_rbac(deployment: Object) -> Iterator[Object]:
    name, namespace = f"{COMPONENT}{_ELECTION}", deployment["metadata"]["namespace"]
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName") or "default"
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    yield _companion(deployment, f"{_RBAC}/v1", "Role", name, rules=[rule])
    yield _companion(deployment, f"{_RBAC}/v1", "RoleBinding", name, roleRef=role, subjects=[subject])


def _companion(deployment: Object, api_version: str, kind: str, name: str, **fields: Any) -> Object:
    labels = {"labels": dict(COMPANION_LABELS)}
    return new_object(api_version, kind, name, deployment["metadata"]["namespace"], meta=labels, **fields)
