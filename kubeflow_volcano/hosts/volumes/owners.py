"""The owner that each bound volume's directory needs: from live pods, else workloads, else the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, has_ended
from kubeflow_volcano.cluster.pods.volumes import HOSTNAME, RunsAs, directory_of, node_of, runs_as

READS: Mapping[str, str] = {
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "Node": "v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "Pod": "v1",
    "StatefulSet": "apps/v1",
}
"""Kinds from which the owner of a volume follows."""


@dataclass(frozen=True, slots=True)
class VolumeOwner:
    """A directory on a node and the owner that it needs.

    `uid` None leaves users alone; any of `gids` is right and the first is given. `reason` says why no owner can be
    determined; it is empty if one can.
    """

    node: str
    volume: str
    claim: str
    path: str
    sub_path: str
    consumer: str
    uid: int | None
    gids: tuple[int, ...]
    reason: str

    @property
    def needed(self) -> str:
        """The owner as chown spells it."""
        return f"{'' if self.uid is None else self.uid}:{self.gids[0] if self.gids else ''}"


@dataclass(frozen=True, slots=True)
class _Mount:
    consumer: str
    sub_path: str
    identity: RunsAs


def read(cluster: Cluster) -> dict[str, tuple[Object, ...]]:
    """The objects of these kinds, by kind.

    Raises:
        ApiError: the API server does not answer, or refuses.
    """
    return {kind: cluster.list(api_version, kind).items for kind, api_version in READS.items()}


def volume_owners(objects: Mapping[str, Sequence[Object]], claims: Iterable[Claim]) -> tuple[VolumeOwner, ...]:
    """One entry for each directory of each volume on a node's disk that is bound to a claim.

    `objects` are by kind, as `read` returns them; `claims` those of the release, for claims that no pod mounts now.
    """
    known = {f"{claim.namespace}/{claim.name}": claim for claim in claims}
    names = _names(objects["Node"])
    bound = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in _bound(objects)}
    owners: list[VolumeOwner] = []
    for volume in objects["PersistentVolume"]:
        ref = volume["spec"].get("claimRef") or {}
        claim = bound.get((ref.get("namespace"), ref.get("name")))
        path = directory_of(volume)
        if not path or claim is None or claim["spec"]["volumeName"] != volume["metadata"]["name"]:
            continue
        mounts = list(_live(objects["Pod"], claim)) or list(_declared(objects, claim))
        mounts = [_by_image(known, mount, claim) for mount in mounts] or _known(known, claim)
        host = node_of(volume)
        owners += _owners(volume, claim, names.get(host, host), path, mounts)
    return tuple(owners)


def _names(nodes: Iterable[Object]) -> dict[str, str]:
    """Names of nodes by their hostname label, which volumes refer to."""
    return {(node["metadata"].get("labels") or {}).get(HOSTNAME, ""): node["metadata"]["name"] for node in nodes}


def _bound(objects: Mapping[str, Sequence[Object]]) -> Iterator[Object]:
    return (item for item in objects["PersistentVolumeClaim"] if item["spec"].get("volumeName"))


def _live(pods: Iterable[Object], claim: Object) -> Iterator[_Mount]:
    for pod in pods:
        ended = has_ended(pod) or "deletionTimestamp" in pod["metadata"]
        if not ended and pod["metadata"]["namespace"] == claim["metadata"]["namespace"]:
            name = f"Pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"
            yield from _mounts(name, pod["spec"], claim["metadata"]["name"], pod.get("status"))


def _declared(objects: Mapping[str, Sequence[Object]], claim: Object) -> Iterator[_Mount]:
    """Mounts of workloads without a pod, such as one that is scaled to zero."""
    namespace = claim["metadata"]["namespace"]
    for kind in ("DaemonSet", "Deployment", "StatefulSet"):
        for item in objects[kind]:
            if item["metadata"]["namespace"] == namespace:
                name = f"{kind} {namespace}/{item['metadata']['name']}"
                yield from _mounts(name, item["spec"]["template"]["spec"], claim["metadata"]["name"], None)


def _mounts(consumer: str, spec: Mapping[str, Any], claim: str, status: Mapping[str, Any] | None) -> Iterator[_Mount]:
    """Mounts through which the containers of one pod write to the claim; read-only ones need no owner."""
    sources = {item["name"]: item.get("persistentVolumeClaim") or {} for item in spec.get("volumes") or ()}
    for container in spec["containers"]:
        for mount in container.get("volumeMounts") or ():
            source = sources.get(mount["name"], {})
            if source.get("claimName") == claim and not (mount.get("readOnly") or source.get("readOnly")):
                yield _Mount(consumer, mount.get("subPath", ""), runs_as(spec, container, status))


def _by_image(known: Mapping[str, Claim], mount: _Mount, claim: Object) -> _Mount:
    """The same mount, with the user of the known consumer's image where that was read and its pod names none."""
    found = known.get(f"{claim['metadata']['namespace']}/{claim['metadata']['name']}")
    if found is None or not found.source or mount.identity.user is not None:
        return mount
    if not f"{mount.consumer.rpartition('/')[2]}-".startswith(f"{found.consumer.name}-"):
        return mount
    return replace(mount, identity=replace(mount.identity, user=found.run_as_user))


def _known(known: Mapping[str, Claim], claim: Object) -> list[_Mount]:
    mounts = known.get(f"{claim['metadata']['namespace']}/{claim['metadata']['name']}")
    if mounts is None:
        return []
    identity = RunsAs(mounts.run_as_user, mounts.run_as_group, mounts.fs_group, not_root=False)
    return [_Mount(f"{mounts.consumer}, by the catalog", "", identity)]


def _owners(volume: Object, claim: Object, node: str, path: str, mounts: Sequence[_Mount]) -> Iterator[VolumeOwner]:
    """One entry for each part of the volume that is mounted; consumers of the same part need the same owner."""
    parts: dict[str, list[_Mount]] = {}
    for mount in mounts:
        parts.setdefault(mount.sub_path, []).append(mount)
    name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
    for sub_path, users in (parts or {"": []}).items():
        identities = {mount.identity for mount in users}
        uid, gids, reason = _right(identities)
        if len(parts) > 1 and not sub_path:
            uid, gids, reason = None, (), "other consumers mount parts of it"
        consumer = users[0].consumer if users else ""
        yield VolumeOwner(node, volume["metadata"]["name"], name, path, sub_path, consumer, uid, gids, reason)


def _right(identities: Iterable[RunsAs]) -> tuple[int | None, tuple[int, ...], str]:
    """Uid and gids that are right for all of them, or why there are none."""
    distinct = {(item.user, _groups(item)) for item in identities}
    if not distinct:
        return None, (), "no pod mounts the claim, and the catalog does not know it"
    if len(distinct) > 1:
        return None, (), "its consumers run as different users"
    ((user, groups),) = distinct
    if user == 0:
        return None, (), "its consumer is root, which may write anywhere and may change owners"
    if user is None and not groups:
        return None, (), "only the image defines the user of its consumer"
    return user, groups, ""


def _groups(identity: RunsAs) -> tuple[int, ...]:
    """Groups that may own what the consumer writes: its own, and its fsGroup."""
    groups = (identity.group, identity.fs_group)
    return tuple(dict.fromkeys(group for group in groups if group is not None))
