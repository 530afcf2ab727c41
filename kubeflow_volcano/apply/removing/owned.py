"""Deleting objects that this project applied and no longer needs; never objects of others."""

from __future__ import annotations

from kubeflow_volcano.apply.compare import owned_by
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref


def delete_owned(cluster: Cluster, live: Object, *, check: bool) -> ObjectOutcome | None:
    """Delete a live object by its UID, or in check mode only report it.

    Returns:
        The outcome; None if this project did not apply the object, or it does not exist any more.

    Raises:
        ApiError: it may not be deleted.
    """
    if owned_by(live, FIELD_MANAGER) is None:
        return None
    ref = Ref.of(live)
    if check or cluster.delete(ref, uid=live["metadata"]["uid"]):
        return ObjectOutcome(ref, Action.REMOVED, live, None)
    return None
