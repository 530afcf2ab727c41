"""Static PersistentVolumes: one for each claim of the chosen components, on a node's disk, reserved for that claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from posixpath import join

from kubeflow_volcano.catalog.model import Claim, Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.pods.volumes import HOSTNAME
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.storage import StorageSettings
from kubeflow_volcano.rollout.storage.local_path import DEFAULT_CLASS

STATIC_CLASS = "kubeflow-static"
_FOLDER = "static"


@dataclass(frozen=True, slots=True)
class StaticVolume:
    """One volume: a directory on a node and the claim that it is for."""

    claim: Claim
    node: str
    base: str

    @property
    def folder(self) -> str:
        """Where it is below the base directory of its node."""
        return join(_FOLDER, f"{self.claim.namespace}_{self.claim.name}")

    @property
    def path(self) -> str:
        """Where it is on its node."""
        return join(self.base, self.folder)

    @property
    def name(self) -> str:
        """Name of the PersistentVolume."""
        return f"kubeflow-volcano-{self.claim.namespace}-{self.claim.name}"

    @property
    def owner(self) -> tuple[int, int, int]:
        """Uid, gid and mode of the directory; a consumer whose user is not known is taken for root."""
        user, _, group = self.claim.owner.partition(":")
        return (int(user), int(group), self.claim.mode) if user else (0, 0, 0o771)


def static_volumes(storage: StorageSettings, components: Iterable[Component]) -> tuple[StaticVolume, ...]:
    """A volume for each claim of the components; none unless the mode is static."""
    if storage.mode != "static":
        return ()
    return tuple(_volumes(storage, components))


def _volumes(storage: StorageSettings, components: Iterable[Component]) -> Iterator[StaticVolume]:
    for claim in (claim for part in components for claim in part.claims):
        node = storage.static_nodes.get(f"{claim.namespace}/{claim.name}", storage.static_node)
        yield StaticVolume(claim, node, storage.directory_on(node))


def objects_of(volumes: Sequence[StaticVolume]) -> tuple[Object, ...]:
    """The class, which is the default one, and the volumes; each is reserved for its claim and retained."""
    return (_class(), *map(_volume, volumes)) if volumes else ()


def _class() -> Object:
    return new_object(
        "storage.k8s.io/v1",
        "StorageClass",
        STATIC_CLASS,
        meta={"annotations": {DEFAULT_CLASS: "true"}},
        provisioner="kubernetes.io/no-provisioner",
        reclaimPolicy="Retain",
        volumeBindingMode="WaitForFirstConsumer",
    )


def _volume(volume: StaticVolume) -> Object:
    claim = volume.claim
    where = {"key": HOSTNAME, "operator": "In", "values": [volume.node]}
    reserved = {"kind": "PersistentVolumeClaim", "namespace": claim.namespace, "name": claim.name}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": claim.size},
        "claimRef": {"apiVersion": "v1", **reserved},
        "local": {"path": volume.path},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": STATIC_CLASS,
        "volumeMode": "Filesystem",
    }
    return new_object("v1", "PersistentVolume", volume.name, spec=spec)


def validate_static_volumes(cluster: Cluster, volumes: Sequence[StaticVolume]) -> Iterator[Problem]:
    """What prevents the volumes from being used: missing nodes, and volumes with the data of an earlier claim.

    Raises:
        ApiError: the API server refused a question.
    """
    for node in dict.fromkeys(volume.node for volume in volumes):
        found = cluster.get(Ref("v1", "Node", "", node))
        label = (found["metadata"].get("labels") or {}).get(HOSTNAME) if found else node
        if label != node:
            yield Problem(
                f"node {node} for static volumes has the label {HOSTNAME}={label}.",
                "a node whose label equals its name: volumes are bound to a node by that label.",
                "choose another node, or start its kubelet with its name as --hostname-override.",
            )
        if found is None:
            known = sorted(item["metadata"]["name"] for item in cluster.list("v1", "Node").items)
            yield Problem(
                f"node {node} for static volumes does not exist in the cluster.",
                f"one of: {', '.join(known)}.",
                "correct local_path_static_node or local_path_static_nodes.",
            )
    for volume in volumes:
        live = cluster.get(Ref("v1", "PersistentVolume", "", volume.name))
        if live and live.get("status", {}).get("phase") == "Released":
            patch = '\'[{"op":"remove","path":"/spec/claimRef/uid"}]\''
            yield Problem(
                f"PersistentVolume {volume.name} has the data of an earlier claim in {volume.path} on {volume.node}.",
                "a volume that is free for the new claim.",
                "look into the directory; to give it to the new claim: "
                f"kubectl patch pv {volume.name} --type json -p {patch}",
            )
