"""Which live objects a backup has, and what of one is sent to another cluster. Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.result import without_server_fields
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, conditions

ROLES = frozenset({"admin", "edit", "view"})
"""Of contributors: kubeflow-admin, kubeflow-edit and kubeflow-view are the ClusterRoles of these names."""
_RBAC = "rbac.authorization.k8s.io"


class LeftOut(StrEnum):
    """Why an object is in no backup."""

    DECLARED = "applied by a roll-out, and comes back with the next one"
    DERIVED = "made by a controller from its owner, and made again"
    DELETED = "in deletion"
    EXPERIMENT = "of an experiment or a validation"


_PHASES = frozenset({"Succeeded", "Failed", "Error", "Completed", "Aborted", "Terminated", "Skipped", "Omitted"})
"""Ends of Argo's Workflows (status.phase) and of Volcano's Jobs (status.state.phase)."""
_CONDITIONS = frozenset({"Succeeded", "Failed", "Complete", "Completed"})
"""Conditions with which training jobs, TrainJobs, and Katib's Experiments end."""

_SPACES, _QUEUES, _CONFIGURATION, _WORKLOADS = range(4)
_STAGES = {
    ("", "Namespace"): _SPACES,
    ("", "Secret"): _SPACES,
    ("kubeflow.org", "Profile"): _SPACES,
    ("scheduling.volcano.sh", "Queue"): _QUEUES,
}
STARTING_PODS = frozenset(
    {
        "kubeflow.org",
        "trainer.kubeflow.org",
        "batch.volcano.sh",
        "flow.volcano.sh",
        "jobset.x-k8s.io",
        "argoproj.io",
        "serving.kserve.io",
        "serving.knative.dev",
        "sinks.knative.dev",
        "sources.knative.dev",
        "sparkoperator.k8s.io",
        "tensorboard.kubeflow.org",
    }
)
"""Groups of the kinds whose controllers start pods, beside kinds that these refer to."""
_REFERRED_TO = ("Profile", "PodDefault", "Runtime", "Template", "Domain")
"""Ends of the names of kinds in these groups that workloads refer to."""


def why_left_out(obj: Object) -> LeftOut | None:
    """Why a backup does not have the object; None if it has."""
    meta = obj["metadata"]
    if "deletionTimestamp" in meta:
        return LeftOut.DELETED
    if RUN_LABEL in (meta.get("labels") or {}):
        return LeftOut.EXPERIMENT
    if any(owner.get("controller") for owner in meta.get("ownerReferences") or ()):
        return LeftOut.DERIVED
    if own_entry(obj) is not None:
        return LeftOut.DECLARED
    return None


def is_contributor(binding: Object) -> bool:
    """Whether it shares a profile as kubeflow/kubeflow's access-management does (kfam/bindings.go).

    That is a RoleBinding with two annotations, which gives one person one of three ClusterRoles. What a person wrote by
    hand with these annotations and any other role is none.
    """
    notes = binding["metadata"].get("annotations") or {}
    role, subjects = notes.get("role"), binding.get("subjects")
    return (
        binding["kind"] == "RoleBinding"
        and role in ROLES
        and binding.get("roleRef") == {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"kubeflow-{role}"}
        and isinstance(subjects, list)
        and len(subjects) == 1
        and is_person(subjects[0])
        and subjects[0]["name"] == notes.get("user")
    )


def is_person(subject: Any) -> bool:
    """Whether a subject is a user or a group of the sign-in: those of the cluster itself begin with `system:`."""
    if not isinstance(subject, Mapping):
        return False
    name = subject.get("name")
    return (
        str(subject.get("kind")) in {"User", "Group"} and isinstance(name, str) and name != "" and name[:7] != "system:"
    )


def has_ended(obj: Object) -> bool:
    """Whether the object is a job that has ended: created without its status, it would run once more."""
    status = obj.get("status") or {}
    if obj["kind"] == "InferenceService":
        return False
    state = status.get("state")
    phases = {str(status.get("phase")), str(state.get("phase")) if isinstance(state, Mapping) else ""}
    if obj["kind"] in {"Workflow", "Job"}:
        return bool(phases & _PHASES)
    return any(item.get("status") == "True" for kind, item in conditions(obj).items() if kind in _CONDITIONS)


def stage_of(obj: Object) -> int:
    """When it is restored: namespaces, queues, what others refer to, and last what starts pods."""
    group = obj["apiVersion"].rpartition("/")[0]
    if (stage := _STAGES.get((group, obj["kind"]))) is not None:
        return stage
    refers = group in STARTING_PODS and not obj["kind"].endswith(_REFERRED_TO)
    return _WORKLOADS if refers else _CONFIGURATION


def sendable(obj: Object, uids: Mapping[str, str]) -> Object:
    """The object without what the old cluster gave it; `uids` maps those of its owners to the new ones.

    References to owners that were not restored are dropped: the garbage collector would delete the object. Finalizers
    are dropped, because controllers add their own.
    """
    made = without_server_fields(copy.deepcopy(obj))
    meta = made["metadata"]
    meta.pop("finalizers", None)
    owners = [{**owner, "uid": uids[owner["uid"]]} for owner in meta.pop("ownerReferences", ()) if owner["uid"] in uids]
    if owners:
        meta["ownerReferences"] = owners
    if obj["kind"] == "Namespace":
        made.pop("spec", None)
        (meta.get("labels") or {}).pop("kubernetes.io/metadata.name", None)
    return made
