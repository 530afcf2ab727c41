"""Volumes that were provisioned for probes' claims."""

from __future__ import annotations

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["let_go", "volume_of"]


def volume_of(cluster: Cluster, claim: Object) -> Object | None:
    """The volume that is bound to this very claim, which is as the server shows it now; None where there is none.

    Raises:
        ApiError: it may not be read.
    """
    name = claim["spec"].get("volumeName")
    volume = cluster.get(Ref("v1", "PersistentVolume", "", name)) if name else None
    if volume and (volume["spec"].get("claimRef") or {}).get("uid") == claim["metadata"]["uid"]:
        return volume
    return None


def let_go(cluster: Cluster, volume: Object) -> None:
    """See that a probe's volume goes with its claim: a class that retains volumes would keep it for ever.

    Raises:
        ApiError: the volume may not be changed.
    """
    if volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
        cluster.patch(Ref.of(volume), {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
