"""Volumes of removed claims: their provisioner must delete them before it goes itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubeflow_volcano.apply.removing.ending import wait_for_end
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress

__all__ = ["wait_for_volumes"]


def wait_for_volumes(
    cluster: Cluster, claims: Collection[str], patience: Deadline, progress: Progress, *, provisioned: bool
) -> Iterator[Problem]:
    """Wait until the volumes of these claims, by UID, that are to be deleted are gone; yields those that are not.

    Without `provisioned` their provisioner stays, and there is nothing to wait for.

    Raises:
        ApiError: volumes cannot be listed.
    """
    if not provisioned:
        return
    live = {
        Ref.of(item): item["metadata"]["uid"]
        for item in cluster.list("v1", "PersistentVolume").items
        if ((item["spec"].get("claimRef") or {}).get("uid")) in claims
        and item["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
    }
    for ref in wait_for_end(cluster, live, patience, progress) if live else ():
        yield Problem(
            f"{ref} of a removed claim is still there.",
            "its provisioner, which deletes it with its directory.",
            f"see kubectl describe persistentvolume {ref.name}; once nothing needs it, kubectl delete "
            f"persistentvolume {ref.name}, and remove its directory on the node.",
        )
