"""Taking away what this project brought and needs no longer; nothing of anybody else's."""

from __future__ import annotations

from kubeflow_volcano.apply.compare import owned_by
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["take_away"]


def take_away(cluster: Cluster, live: Object, *, check: bool) -> ObjectOutcome | None:
    """Remove an object by its UID, or in check mode only tell; None where this project did not apply it, or it is gone.

    Raises:
        ApiError: it may not be removed.
    """
    if owned_by(live, MANAGER) is None:
        return None
    ref = Ref.of(live)
    if check or cluster.delete(ref, uid=live["metadata"]["uid"]):
        return ObjectOutcome(ref, Action.REMOVED, live, None)
    return None
