"""Several pods of Volcano's programs and of the training operator, of which one leads: patches of upstream's text.

Rules: cmd/*/app/options and main.go of Volcano v1.8.2, v1.10.0 (both programs know --leader-elect, their ClusterRoles
have Leases), the manifests of v1.12.2 and v1.15.1; cmd/training-operator.v1/main.go of v1.5.0 to v1.8.1, whose
ClusterRole has no Leases.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog.operator import COMPONENT, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.settings.volcano import leader_problem

__all__ = [
    "ADDED",
    "companions_of",
    "operator_replicated",
    "volcano_replicated",
]

ADDED = {"app.kubernetes.io/managed-by": "kubeflow-volcano"}
"""Labels of objects that stand beside upstream's."""

_ELECT = "--leader-elect"
_LEADERS = frozenset({"volcano-scheduler", "volcano-controllers"})
_VOLCANO = _LEADERS | {"volcano-admission"}
_ELECTION = "-leader-election"
_RBAC = "rbac.authorization.k8s.io"


def volcano_replicated(objects: list[Object], replicas: int) -> None:
    """Give the scheduler, the controllers and the admission `replicas` pods; of the first two one leads at a time."""
    if replicas == 1:
        return
    for deployment in _deployments(objects, _VOLCANO):
        if deployment["metadata"]["name"] in _LEADERS:
            _elect(deployment["spec"]["template"]["spec"]["containers"][0], first=True)
        objects.append(_spread(deployment, replicas))


def operator_replicated(objects: list[Object], release_version: str, replicas: int) -> None:
    """Give the operator `replicas` pods of which one leads, and the right to its Lease.

    Raises:
        InvalidInput: that version cannot elect a leader.
    """
    if replicas == 1:
        return
    for deployment in _deployments(objects, frozenset({COMPONENT})):
        spec = deployment["spec"]["template"]["spec"]
        container = next(item for item in spec["containers"] if item["name"] == COMPONENT)
        version = version_of_image(container["image"]) or release_version
        if not era_of(version).elects_leader:
            raise InvalidInput(leader_problem(replicas, version))
        _elect(container, first=False)
        objects += [_spread(deployment, replicas), *_lease_rights(deployment)]


def companions_of(deployment: Object) -> Iterator[Ref]:
    """What stands beside one of these Deployments when it has several pods; nothing beside anything else."""
    meta = deployment["metadata"]
    if deployment["kind"] != "Deployment" or meta["name"] not in _VOLCANO | {COMPONENT}:
        return
    yield Ref("policy/v1", "PodDisruptionBudget", meta["namespace"], meta["name"])
    if meta["name"] == COMPONENT:
        for kind in ("Role", "RoleBinding"):
            yield Ref(f"{_RBAC}/v1", kind, meta["namespace"], f"{COMPONENT}{_ELECTION}")


def _deployments(objects: Sequence[Object], names: frozenset[str]) -> list[Object]:
    return [obj for obj in objects if obj["kind"] == "Deployment" and obj["metadata"]["name"] in names]


def _elect(container: Object, *, first: bool) -> None:
    """Have the program elect a leader; Volcano's arguments end in a word that is none, so that it goes before them."""
    kept = [item for item in container.get("args") or () if item.partition("=")[0] != _ELECT]
    container["args"] = [f"{_ELECT}=true", *kept] if first else [*kept, f"{_ELECT}=true"]
    if "command" in container:
        container["command"] = [item for item in container["command"] if item.partition("=")[0] != _ELECT]


def _spread(deployment: Object, replicas: int) -> Object:
    """Put its pods on several nodes where there are some; the budget that keeps a drain from taking them all."""
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
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _placed(deployment, deployment["metadata"]["name"]),
        "spec": {"maxUnavailable": 1, "selector": labels},
    }


def _lease_rights(deployment: Object) -> Iterator[Object]:
    meta = _placed(deployment, f"{COMPONENT}{_ELECTION}")
    spec = deployment["spec"]["template"]["spec"]
    account = spec.get("serviceAccountName") or "default"
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]}
    yield {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": meta, "rules": [rule]}
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": dict(meta),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": meta["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": meta["namespace"]}],
    }


def _placed(deployment: Object, name: str) -> Object:
    return {"name": name, "namespace": deployment["metadata"]["namespace"], "labels": dict(ADDED)}
