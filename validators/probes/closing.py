"""The end of a session: everything is asked to go, by UID, and waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from validators.probes.remains import Departure, Tracked, delete_all
from validators.probes.volumes import let_go, volume_of

__all__ = ["remove"]

_PROVISIONING_SECONDS = 8.0
"""How long a provisioner that was at work may take to show the volume of a claim that is gone by then."""

_PROVISIONER = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")


def remove(
    cluster: Cluster, here: Sequence[Tracked], swept: Sequence[Tracked], deadline: Deadline
) -> tuple[tuple[Tracked, ...], tuple[Tracked, ...]]:
    """Remove what is `here`, and wait for that and for what was `swept`.

    Returns what is left at the deadline, and the volumes that belonged to claims among it.
    """
    claims = [item for item in here if item.ref.kind == "PersistentVolumeClaim"]
    volumes, unfinished = _volumes(cluster, claims)
    spaces = [item for item in here if item.ref.kind == "Namespace"]
    inside = [item for item in here if item.ref.namespace]
    # A quota is only made where a namespace is, and goes with that.
    delete_all(cluster, [item for item in inside if item.ref.kind != "ResourceQuota"], deadline)
    delete_all(cluster, spaces, deadline)
    # What lives in a namespace is gone when the namespace is.
    names = {item.ref.name for item in spaces}
    outside = [item for item in here if item.ref.namespace not in names]
    waited = dict.fromkeys([*outside, *swept, *map(Tracked.of, volumes)])
    departure = Departure(cluster, list(waited), {item.uid for item in claims})
    left = list(departure.wait(deadline, at_least=_PROVISIONING_SECONDS if unfinished else 0.0))
    lasting = {item.ref.name for item in left if item.ref.kind == "Namespace"}
    left += [item for item in inside if item.ref.namespace in lasting]
    return tuple(left), tuple(map(Tracked.of, [*volumes, *departure.late]))


def _volumes(cluster: Cluster, claims: Sequence[Tracked]) -> tuple[list[Object], bool]:
    """Volumes of claims that are still there, and whether a provisioner is still at work for one of them."""
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
