"""Volumes that were provisioned for claims of probes, and the pods in which provisioners make them."""

from __future__ import annotations

import re
from collections.abc import Collection

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref

# A provisioned volume is pvc-UID of its claim (sig-storage-lib-external-provisioner, getProvisionedVolumeNameForClaim),
# and the pod that makes it ends in the volume's name (local-path-provisioner, createHelperPod).
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_HELPER = re.compile(r".+-pvc-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def volume_of(cluster: Cluster, claim: Object) -> Object | None:
    """The volume that was provisioned for this live claim, by UID; None if there is none.

    Raises:
        ApiError: the API server does not allow reading it.
    """
    name = claim["spec"].get("volumeName")
    volume = cluster.get(Ref("v1", "PersistentVolume", "", name)) if name else None
    if volume and is_provisioned(volume) and volume["spec"]["claimRef"].get("uid") == claim["metadata"]["uid"]:
        return volume
    return None


def is_provisioned(volume: Object) -> bool:
    """Whether a provisioner made the volume for its claim; any other was there before, and stays."""
    claim = (volume["spec"].get("claimRef") or {}).get("uid")
    meta = volume["metadata"]
    return bool(claim) and (_PROVISIONED_BY in (meta.get("annotations") or {}) or meta["name"] == f"pvc-{claim}")


def let_go(cluster: Cluster, volume: Object) -> None:
    """Let the volume be deleted with its claim, also if the class retains volumes.

    Raises:
        ApiError: the API server does not allow changing it.
    """
    if volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
        cluster.patch(Ref.of(volume), {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})


def served_claim(pod: Object) -> str:
    """UID of the claim whose volume a provisioner makes or removes in this pod; empty for other pods."""
    meta = pod["metadata"]
    match = None if meta.get("ownerReferences") else _HELPER.fullmatch(meta["name"])
    return match[1] if match else ""


def helpers_of(cluster: Cluster, claims: Collection[str], namespace: str = "") -> tuple[Object, ...]:
    """The pods of provisioners for the claims with these UIDs, in one namespace or in all.

    Raises:
        ApiError: the API server does not allow listing them.
    """
    pods = cluster.list("v1", "Pod", namespace=namespace).items if claims else ()
    return tuple({"apiVersion": "v1", "kind": "Pod", **pod} for pod in pods if served_claim(pod) in claims)
