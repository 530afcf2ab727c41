"""Restarting the pods of a Deployment as `kubectl rollout restart` does, once for each cause."""

from __future__ import annotations

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref, new_object

RESTARTED_FOR = "kubeflow-volcano/restarted-for"
"""Annotation of a pod template: the cause of the last restart."""

# A field manager of its own: an apply by the main one, which does not declare this annotation, must not delete it.
_RESTART_MANAGER = f"{FIELD_MANAGER}-restart"


def restart(cluster: Cluster, deployment: Object, cause: str, *, check: bool) -> ObjectOutcome:
    """Restart its pods; calling it twice with the same `cause` (such as a UID) is one restart.

    Raises:
        ApiError: the Deployment may not be changed.
    """
    ref = Ref.of(deployment)
    spec = {"template": {"metadata": {"annotations": {RESTARTED_FOR: cause}}}}
    text = new_object(ref.api_version, ref.kind, ref.name, ref.namespace, spec=spec)
    after = cluster.apply(text, manager=_RESTART_MANAGER, force=True, dry_run=check)
    return ObjectOutcome(ref, Action.CHANGED, deployment, after)
