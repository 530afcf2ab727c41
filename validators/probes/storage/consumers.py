"""Who writes to volumes in this cluster: the targets of the permission probe, and what is left out and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from kubeflow_volcano.catalog.images.users import ImageUser, kept_user
from kubeflow_volcano.catalog.shipped import shipped_claims
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.volumes import directory_of, node_of
from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CLAIMS, NODES, PODS, VOLUMES
from kubeflow_volcano.validators.probes.storage import claims
from kubeflow_volcano.validators.probes.storage.identities import Identity, of_claim, of_container
from kubeflow_volcano.validators.probes.storage.writing import Target
from kubeflow_volcano.validators.subjects.issues import judged
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.storage_classes import effective_class

MOST_DIRECTORIES = 40
"""More directories in use than these are not probed in one run; the others are named."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that mounts a claim and was not probed, and why; `beyond` when it was only too much for one run."""

    consumer: Ref
    reason: str
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Mount:
    """A container that may write to a claim through one of its mounts, and the workload, or pod, that it belongs to."""

    consumer: Ref
    pod: Object
    container: dict[str, Any]
    mount: dict[str, Any]
    claim: Object


def targets(facts: Facts) -> tuple[tuple[Target, ...], tuple[Skipped, ...]]:
    """Every distinct way in which live pods write to claims; the catalog's identities where there is none.

    Raises:
        CannotJudgeError: pods, claims, volumes or classes could not be read.
    """
    users: dict[Target, set[Ref]] = {}
    skipped: dict[Skipped, None] = {}
    for item in mounts(facts):
        for entry in (_fresh(item, facts), _existing(item, facts)):
            if isinstance(entry, Skipped):
                skipped[entry] = None
            elif entry:
                users.setdefault(entry, set()).add(item.consumer)
    chosen = [replace(target, consumers=tuple(sorted(refs))) for target, refs in users.items()]
    directories = [target for target in chosen if target.existing]
    for beyond in directories[MOST_DIRECTORIES:]:
        reason = f"{beyond.path} is beyond the {MOST_DIRECTORIES} directories of one run"
        skipped[Skipped(beyond.consumers[0], reason, beyond=True)] = None
    chosen = [target for target in chosen if not target.existing] + directories[:MOST_DIRECTORIES]
    for entry in _references(facts) if not chosen else ():
        if isinstance(entry, Skipped):
            skipped[entry] = None
        else:
            chosen.append(entry)
    return tuple(chosen), tuple(skipped)


def mounts(facts: Facts) -> Iterator[Mount]:
    """Every mount of a claim that is not read-only, in pods that are not over.

    Raises:
        CannotJudgeError: pods or claims could not be read.
    """
    for pod in judged(facts, PODS):
        if _over(pod):
            continue
        volumes = {item["name"]: item["persistentVolumeClaim"] for item in _claimed(pod)}
        for container in pod["spec"]["containers"]:
            for mount in container.get("volumeMounts") or ():
                source = volumes.get(mount["name"])
                # A reader needs no right to write.
                if source is None or mount.get("readOnly") or source.get("readOnly"):
                    continue
                namespace = pod["metadata"]["namespace"]
                claim = facts.get(CLAIMS, namespace, source["claimName"])
                if claim:
                    yield Mount(_consumer(pod), pod, container, mount, claim)


def _over(pod: Object) -> bool:
    """Whether no container of this pod runs any more.

    One whose container has failed may be a consumer that could not write; one that was evicted has a reason of its own.
    """
    status = pod.get("status", {})
    ended = status.get("phase") == "Succeeded" or (status.get("phase") == "Failed" and status.get("reason"))
    return bool(ended) or "deletionTimestamp" in pod["metadata"]


def _claimed(pod: Object) -> Iterator[dict[str, Any]]:
    return (item for item in pod["spec"].get("volumes") or () if "persistentVolumeClaim" in item)


def _consumer(pod: Object) -> Ref:
    return workload_of(pod) or Ref("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])


def _identity(item: Mount, facts: Facts) -> Identity | None:
    """Of the container; where its user is left to the image, the catalog may know it, or an earlier roll-out."""
    identity = of_container(item.pod, item.container)
    if identity and identity.user is not None:
        return identity
    name = (item.claim["metadata"]["namespace"], item.claim["metadata"]["name"])
    known = next((claim for claim in facts.expectations.claims if (claim.namespace, claim.name) == name), None)
    if known and known.run_as_user is not None:
        return replace(
            identity or Identity(), user=known.run_as_user, group=known.run_as_group, fs_group=known.fs_group
        )
    user = _of_image(item, facts)
    return of_container(item.pod, item.container, user.numbers) if user else identity


def _of_image(item: Mount, facts: Facts) -> ImageUser | None:
    """What a roll-out from this machine has read of the image that runs, by its digest; without a request."""
    nodes = {node["metadata"]["name"]: node for node in facts.objects.get(NODES, ())}
    node = nodes.get(item.pod["spec"].get("nodeName", ""), {})
    architecture = node.get("status", {}).get("nodeInfo", {}).get("architecture", "")
    for status in item.pod.get("status", {}).get("containerStatuses") or ():
        if status["name"] == item.container["name"] and architecture:
            digest = status.get("imageID", "").rpartition("@")[2]
            return kept_user(cache_directory(), digest, [architecture]) if digest else None
    return None


def _fresh(item: Mount, facts: Facts) -> Target | Skipped | None:
    spec = item.claim["spec"]
    identity = _identity(item, facts)
    if identity is None:
        return Skipped(item.consumer, "must not run as root, and only its image says as whom it runs")
    storage_class = spec.get("storageClassName") or ""
    if reason := claims.unsafe(storage_class, facts):
        return Skipped(item.consumer, f"no new volume was tried: {reason}")
    if spec.get("volumeMode") == "Block":
        return Skipped(item.consumer, "uses its volume as a block device")
    return Target(identity, (), storage_class=storage_class, access_mode=spec["accessModes"][0])


def _existing(item: Mount, facts: Facts) -> Target | Skipped | None:
    """The directory behind a bound volume; only those of kind hostPath and local can be looked at from outside."""
    name = item.claim["spec"].get("volumeName", "")
    volume = facts.get(VOLUMES, "", name) if name else None
    identity = _identity(item, facts)
    if volume is None or identity is None or item.claim["spec"].get("volumeMode") == "Block":
        return None  # nothing to look at yet, or said already
    directory = directory_of(volume)
    if not directory:
        return Skipped(item.consumer, f"volume {name} itself can be mounted by its own claim only")
    node = item.pod["spec"].get("nodeName") or node_of(volume)
    path = PurePosixPath(directory) / item.mount.get("subPath", "")
    if not node:
        return Skipped(item.consumer, f"is on no node yet, and volume {name} does not say on which one {path} is")
    if node in facts.simulated_nodes:
        return Skipped(item.consumer, f"is on the simulated node {node}: there is no directory behind volume {name}")
    if item.mount.get("subPathExpr"):
        return Skipped(item.consumer, f"mounts a part of volume {name} that only the kubelet knows")
    return Target(identity, (), volume=name, path=str(path), node=node)


def _references(facts: Facts) -> Iterator[Target | Skipped]:
    default = effective_class(facts)
    if not default:
        return
    if reason := claims.unsafe(default, facts):
        yield Skipped(Ref("storage.k8s.io/v1", "StorageClass", "", default), f"was not tried: {reason}")
        return
    for identity in dict.fromkeys(map(of_claim, shipped_claims())):
        yield Target(identity, (), storage_class=default)
