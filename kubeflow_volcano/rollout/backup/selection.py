"""Which live objects a backup has, and what of one is sent to another cluster. Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import StrEnum

from kubeflow_volcano.apply.compare import owned_by
from kubeflow_volcano.apply.result import without_server_fields
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER, RUN_LABEL
from kubeflow_volcano.cluster.objects import Object

__all__ = ["LeftOut", "has_ended", "is_contributor", "sendable", "stage_of", "why_left_out"]


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
_STARTING_PODS = frozenset(
    {
        "kubeflow.org",
        "trainer.kubeflow.org",
        "batch.volcano.sh",
        "flow.volcano.sh",
        "jobset.x-k8s.io",
        "argoproj.io",
        "serving.kserve.io",
        "serving.knative.dev",
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
    if owned_by(obj, FIELD_MANAGER) is not None:
        return LeftOut.DECLARED
    return None


def is_contributor(binding: Object) -> bool:
    """Whether a RoleBinding shares a profile: kubeflow/kubeflow's access-management writes these two annotations."""
    return {"role", "user"} <= (binding["metadata"].get("annotations") or {}).keys()


def has_ended(obj: Object) -> bool:
    """Whether the object is a job that has ended: created without its status, it would run once more."""
    status = obj.get("status") or {}
    if obj["kind"] == "InferenceService":
        return False
    state = status.get("state")
    phases = {status.get("phase"), state.get("phase") if isinstance(state, Mapping) else None}
    if obj["kind"] in {"Workflow", "Job"}:
        return bool(phases & _PHASES)
    found = status.get("conditions") or ()
    return any(item.get("type") in _CONDITIONS and item.get("status") == "True" for item in found)


def stage_of(obj: Object) -> int:
    """When it is restored: namespaces, queues, what others refer to, and last what starts pods."""
    group = obj["apiVersion"].rpartition("/")[0]
    if (stage := _STAGES.get((group, obj["kind"]))) is not None:
        return stage
    refers = group in _STARTING_PODS and not obj["kind"].endswith(_REFERRED_TO)
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
