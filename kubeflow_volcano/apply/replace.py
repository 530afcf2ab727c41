"""Objects with fields that cannot be changed: which of them may be deleted and made again, and how."""

from __future__ import annotations

import re
import time
from http import HTTPStatus

from kubeflow_volcano.apply.compare import owned_by
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline

__all__ = ["gone", "immutable", "replaceable", "way_out"]

_IMMUTABLE = re.compile(
    r"immutable|cannot change roleRef|may not (be changed|change once set)|updates to .* (is|are) forbidden",
    re.IGNORECASE,
)
_SAFE = frozenset(
    {
        ("batch", "Job"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "StorageClass"),
        ("", "ConfigMap"),
        ("", "Secret"),
    }
)
"""Kinds of which nothing is lost: no running service, no data and no address hangs on the old object.

A Job of ours is a step of an installation and runs again; pods keep the priority, and volumes the class, that they
were made with; an immutable ConfigMap or Secret is read by the next pod.
"""
_POLL_SECONDS = 0.2
_WAY_OUT = {
    "PersistentVolumeClaim": "keep it as it is, or save its data, which would be lost, and kubectl delete {0}",
    "StatefulSet": "kubectl delete {0} --cascade=orphan, which leaves pods and claims",
    "Deployment": "kubectl delete {0}; its pods stop until it is back",
    "DaemonSet": "kubectl delete {0}; its pods stop until it is back",
    "Service": "kubectl delete {0}; its cluster address changes",
    "CustomResourceDefinition": "all objects of that kind would be lost with it: save them, kubectl delete {0}",
}


def immutable(error: ApiError) -> bool:
    """Whether the server refused to change what cannot be changed."""
    return error.status == HTTPStatus.UNPROCESSABLE_ENTITY and bool(_IMMUTABLE.search(error.message))


def replaceable(ref: Ref, live: Object | None, manager: str) -> bool:
    """Whether the object may be deleted and made again: a safe kind, and applied by us before."""
    return (ref.group, ref.kind) in _SAFE and live is not None and owned_by(live, manager) is not None


def gone(cluster: Cluster, ref: Ref, uid: str, deadline: Deadline) -> bool:
    """Wait until the object with that UID is no more; whether it is."""
    while True:
        live = cluster.get(ref, deadline=deadline)
        if live is None or live["metadata"]["uid"] != uid:
            return True
        if deadline.passed:
            return False
        time.sleep(_POLL_SECONDS)


def way_out(ref: Ref) -> str:
    """What a person may do about an immutable field of an object that is not replaced here."""
    where = f" -n {ref.namespace}" if ref.namespace else ""
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    text = _WAY_OUT.get(ref.kind, "kubectl delete {0}").format(f"{kind} {ref.name}{where}")
    return f"look at the difference with --check --diff; then {text}, and run again."
