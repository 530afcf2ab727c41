"""Starting the pods of a Deployment anew, as `kubectl rollout restart` does, and once for one cause."""

from __future__ import annotations

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["RESTARTED_FOR", "restart"]

RESTARTED_FOR = "kubeflow-volcano/restarted-for"
"""Annotation of a pod template: what its pods were started anew for."""

# A manager of its own: what the main one applies without this annotation must not take it away again.
_RESTART_MANAGER = f"{MANAGER}-restart"


def restart(cluster: Cluster, deployment: Object, cause: str, *, check: bool) -> ObjectOutcome:
    """Start its pods anew; the same `cause` (a UID, or anything else that names it) twice is one restart.

    Raises:
        ApiError: the Deployment may not be changed.
    """
    ref = Ref.of(deployment)
    text: Object = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        "spec": {"template": {"metadata": {"annotations": {RESTARTED_FOR: cause}}}},
    }
    after = cluster.apply(text, manager=_RESTART_MANAGER, force=True, dry_run=check)
    return ObjectOutcome(ref, Action.CHANGED, deployment, after)
