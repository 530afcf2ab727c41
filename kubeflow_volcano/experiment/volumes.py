"""Volumes that were provisioned for claims of probes."""

from __future__ import annotations

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["let_go", "volume_of"]


def volume_of(cluster: Cluster, claim: Object) -> Object | None:
    """The volume that is bound to this live claim, by UID; None if there is none.

    Raises:
        ApiError: the API server does not allow reading it.
    """
    name = claim["spec"].get("volumeName")
    volume = cluster.get(Ref("v1", "PersistentVolume", "", name)) if name else None
    if volume and (volume["spec"].get("claimRef") or {}).get("uid") == claim["metadata"]["uid"]:
        return volume
    return None


def let_go(cluster: Cluster, volume: Object) -> None:
    """Let the volume be deleted with its claim, also if the class retains volumes.

    Raises:
        ApiError: the API server does not allow changing it.
    """
    if volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
        cluster.patch(Ref.of(volume), {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
