"""Volumes of removed claims: the local-path provisioner must delete them before it goes itself."""

from __future__ import annotations

from collections.abc import Collection

from kubeflow_volcano.apply.removing.ending import wait_for_end
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.storage.local_path import PROVISIONER
from kubeflow_volcano.rollout.uninstall.plan import Kept

_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


def volumes_left(
    cluster: Cluster, claims: Collection[str], provisioner: Ref, patience: Deadline, progress: Progress
) -> list[Kept]:
    """Wait until the volumes of these claims, by UID, are gone; returns those that stay.

    Where the provisioner does not exist any more, there is nothing to wait for. Volumes of other provisioners, and
    retained ones, are none of its concern.

    Raises:
        ApiError: volumes cannot be listed.
    """
    uids = {
        Ref.of(item): item["metadata"]["uid"]
        for item in cluster.list("v1", "PersistentVolume").items
        if (item["spec"].get("claimRef") or {}).get("uid") in claims
        and item["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and (item["metadata"].get("annotations") or {}).get(_PROVISIONED_BY) == PROVISIONER
    }
    if not uids:
        return []
    why = "its claim is gone, and its provisioner did not delete it"
    if cluster.get(provisioner) is None:
        why = f"its claim is gone, and so is {provisioner}, which would delete it"
        left: Collection[Ref] = uids
    else:
        left = wait_for_end(cluster, uids, patience, progress)
    todo = "kubectl delete persistentvolume {}, and remove its directory on the node"
    return [Kept(ref, "volume", why, todo.format(ref.name)) for ref in sorted(left)]
