"""Objects with immutable fields: which of them may be deleted and recreated, and how."""

from __future__ import annotations

import re
from http import HTTPStatus

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.removing.ending import wait_for_end
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent

_IMMUTABLE = re.compile(
    r"immutable|cannot change roleRef|may not (be changed|change once set)|updates to .{0,400}? (is|are) forbidden",
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
"""Kinds whose recreation loses nothing: no running service, no data and no address depends on the old object.

A Job of ours is a step of an installation and runs again; pods keep their priority and volumes their class; the next
pod reads an immutable ConfigMap or Secret.
"""
_WAY_OUT = {
    "PersistentVolumeClaim": "keep it as it is, or save its data, which would be lost, and kubectl delete {0}",
    "StatefulSet": "kubectl delete {0} --cascade=orphan, which leaves pods and claims",
    "Deployment": "kubectl delete {0}; its pods stop until it is back",
    "DaemonSet": "kubectl delete {0}; its pods stop until it is back",
    "Service": "kubectl delete {0}; its cluster address changes",
    "CustomResourceDefinition": "save all objects of that kind, which are deleted with it, and kubectl delete {0}",
}


def is_immutable_error(error: ApiError) -> bool:
    """Whether the API server refused to change an immutable field."""
    return error.status == HTTPStatus.UNPROCESSABLE_ENTITY and bool(_IMMUTABLE.search(error.message))


def is_replaceable(ref: Ref, live: Object | None, *, adopted: bool = False) -> bool:
    """Whether the object may be deleted and recreated: a safe kind that this project has applied or is to take over."""
    return (ref.group, ref.kind) in _SAFE and live is not None and (adopted or own_entry(live) is not None)


def wait_for_deletion(cluster: Cluster, ref: Ref, uid: str, deadline: Deadline) -> bool:
    """Wait until the object with that UID does not exist any more; returns whether that is so."""
    return not wait_for_end(cluster, {ref: uid}, deadline, silent)


def describe_way_out(ref: Ref) -> str:
    """What a person can do about an immutable field of an object that is not recreated here."""
    return f"see the difference with --check --diff; then {way_out(ref)}, and run again."


def way_out(ref: Ref) -> str:
    """The step of it that makes room for the object as declared, as part of a sentence."""
    return _WAY_OUT.get(ref.kind, "kubectl delete {0}").format(ref.for_kubectl())
