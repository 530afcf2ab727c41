"""The end of a session: delete everything by UID, and wait for the deletion."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.remains import Departure, Tracked, delete_all, wait_gone
from kubeflow_volcano.experiment.volumes import helpers_of, let_go, volume_of

SHARED = (("scheduling.volcano.sh/v1beta1", "Queue"), ("scheduling.k8s.io/v1", "PriorityClass"))
"""Cluster-scoped kinds that pods refer to; deleted when no pod of the session is left."""

_PROVISIONING_SECONDS = 8.0
"""How long a busy provisioner may take to create the volume of a claim that is deleted meanwhile."""

_SHARED_SECONDS = 3.0
"""How long to wait for the deletion of a queue before closing it and deleting it again."""

_IDLE = frozenset({"Failed", "Pending"})
_PROVISIONER = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")


def remove(
    cluster: Cluster, here: Sequence[Tracked], swept: Sequence[Tracked], patience: Deadline
) -> tuple[tuple[Tracked, ...], tuple[Tracked, ...]]:
    """Delete what is `here`, and wait until that and what was `swept` no longer exist.

    `patience` limits the time in which nothing happens. Returns what is left, and the volumes of deleted claims.
    """
    claims = [item for item in here if item.ref.kind == "PersistentVolumeClaim"]
    volumes, unfinished = _volumes(cluster, claims)
    spaces = [item for item in here if item.ref.kind == "Namespace"]
    inside = [item for item in here if item.ref.namespace]
    # A quota is created only with its namespace, and deleted with it.
    delete_all(cluster, [item for item in inside if item.ref.kind != "ResourceQuota"], patience)
    delete_all(cluster, spaces, patience)
    # A namespace ends only when nothing is left in it.
    names = {item.ref.name for item in spaces}
    shared = [item for item in here if (item.ref.api_version, item.ref.kind) in SHARED]
    outside = [item for item in here if item.ref.namespace not in names and item not in shared]
    waited = dict.fromkeys([*outside, *swept, *map(Tracked.of, volumes)])
    departure = Departure(cluster, list(waited), {item.uid for item in claims})
    left = list(departure.wait(patience, at_least=_PROVISIONING_SECONDS if unfinished else 0.0, renew=True))
    lasting = {item.ref.name for item in left if item.ref.kind == "Namespace"}
    left += [item for item in inside if item.ref.namespace in lasting]
    left += _shared(cluster, shared, patience)
    return tuple(left), tuple(map(Tracked.of, [*volumes, *departure.late]))


def _volumes(cluster: Cluster, claims: Sequence[Tracked]) -> tuple[list[Object], bool]:
    """Volumes of existing claims, and whether a provisioner is still working on one of them."""
    volumes, unfinished = [], False
    for item in claims:
        with contextlib.suppress(ApiError):
            claim = cluster.get(item.ref)
            if claim is None or claim["metadata"]["uid"] != item.uid:
                continue
            if volume := volume_of(cluster, claim):
                volumes.append(volume)
                let_go(cluster, volume)
            else:
                annotations = claim["metadata"].get("annotations") or {}
                unfinished = unfinished or any(mark in annotations for mark in _PROVISIONER)
    return volumes, unfinished


def remove_helpers(cluster: Cluster, claims: Collection[str], deadline: Deadline) -> tuple[Tracked, ...]:
    """Delete what provisioners left of these claims' volumes: pods that failed, or that did not start.

    `claims` are UIDs of deleted claims without a volume. A pod that runs is the provisioner's to remove, and one
    that may not be deleted is left to it as well. Returns the pods that are gone.
    """
    with contextlib.suppress(ApiError):
        idle = [pod for pod in helpers_of(cluster, claims) if pod.get("status", {}).get("phase") in _IDLE]
        items = list(map(Tracked.of, idle))
        refused = delete_all(cluster, items, deadline)
        deleted = [item for item in items if item not in refused]
        left = {item.uid for item in wait_gone(cluster, deleted, deadline)}
        return tuple(item for item in deleted if item.uid not in left)
    return ()


def _shared(cluster: Cluster, items: Sequence[Tracked], deadline: Deadline) -> tuple[Tracked, ...]:
    """Delete queues and priority classes; returns what is left at the deadline.

    A queue whose deletion is refused is closed and deleted again: admission may count it as open while it has jobs.
    """
    left = tuple(items)
    refused: dict[str, str] = {}
    while left and not deadline.passed:
        refused = {item.uid: text for item, text in delete_all(cluster, left, deadline).items()}
        for item in left:
            if item.uid in refused and item.ref.kind == "Queue":
                with contextlib.suppress(ApiError):
                    _close(cluster, item)
        left = wait_gone(cluster, left, Deadline(_SHARED_SECONDS, deadline))
    return tuple(replace(item, why=refused.get(item.uid) or item.why) for item in left)


def _close(cluster: Cluster, queue: Tracked) -> None:
    """Set the state of the queue to Closed.

    Raises:
        ApiError: the API server refused.
    """
    path = cluster.resource(queue.ref.api_version, queue.ref.kind).path("", queue.ref.name) + "/status"
    body = {"status": {"state": "Closed"}}
    cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")
