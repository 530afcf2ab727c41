"""The pods of an operator's Deployment."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object


def pods_of(cluster: Cluster, deployment: Object) -> Sequence[Object]:
    """All pods that the Deployment's selector names, also those that have ended or are terminating.

    Raises:
        ApiError: they may not be listed.
    """
    labels = ",".join(f"{key}={value}" for key, value in deployment["spec"]["selector"]["matchLabels"].items())
    return cluster.list("v1", "Pod", namespace=deployment["metadata"]["namespace"], labels=labels).items
