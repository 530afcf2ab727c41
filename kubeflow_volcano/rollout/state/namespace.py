"""The project's own namespace on the cluster, for its lock and its ledger; nothing else is kept there."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.holdings import HOLDINGS
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["NAMESPACE", "create_once", "ensure_namespace"]

NAMESPACE = HOLDINGS.namespace

_LABELS = {"app.kubernetes.io/managed-by": "kubeflow-volcano"}


def ensure_namespace(cluster: Cluster, labels: Mapping[str, str] | None = None) -> None:
    """Make the namespace where it is missing, with the inventory's `labels` for namespaces.

    Raises:
        ApiError: it may not be made.
    """
    if cluster.get(Ref("v1", "Namespace", "", NAMESPACE)) is None:
        meta = {"name": NAMESPACE, "labels": {**_LABELS, **(labels or {})}}
        create_once(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})


def create_once(cluster: Cluster, obj: Object) -> Object | None:
    """Create an object; None when somebody else was first, or this very call before its connection broke.

    Raises:
        ApiError: it may not be made.
    """
    try:
        return cluster.create(obj)
    except ApiError as error:
        if error.status == HTTPStatus.CONFLICT and error.reason == "AlreadyExists":
            return None
        raise
