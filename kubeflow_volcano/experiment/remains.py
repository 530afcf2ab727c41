"""What probes created, and proof by UID that it is deleted."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.volumes import is_provisioned, let_go

_TICK = 0.2
_VOLUMES = Subject("v1", "PersistentVolume")


@dataclass(frozen=True, slots=True)
class Tracked:
    """An object that exists because of a probe. `why` is the reason why it could not be deleted."""

    ref: Ref
    uid: str
    why: str = ""

    @classmethod
    def of(cls, obj: Object) -> Tracked:
        """The identity of a live object."""
        return cls(Ref.of(obj), obj["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Cleanup:
    """The result of a session's cleanup: what it created or caused, what is deleted, what is left, and the duration.

    `swept` are deleted leftovers of earlier runs; those that could not be deleted are in `left`.
    """

    created: tuple[Tracked, ...]
    removed: tuple[Tracked, ...]
    left: tuple[Tracked, ...]
    swept: tuple[Tracked, ...]
    seconds: float

    def plus(self, other: Cleanup | None) -> Cleanup:
        """The result of both sessions."""
        if other is None:
            return self
        return Cleanup(
            self.created + other.created,
            self.removed + other.removed,
            self.left + other.left,
            self.swept + other.swept,
            self.seconds + other.seconds,
        )


def delete_all(cluster: Cluster, objects: Iterable[Tracked], deadline: Deadline) -> dict[Tracked, str]:
    """Delete each object by UID, with a grace period of 0; returns the refusals by object."""

    def delete(item: Tracked) -> str:
        try:
            cluster.delete(item.ref, uid=item.uid, grace_seconds=0, deadline=deadline)
        except ApiError as error:
            return str(error)
        return ""

    objects = list(objects)
    if not objects:
        return {}
    with ThreadPoolExecutor(min(8, len(objects)), "delete") as pool:
        return {item: text for item, text in zip(objects, pool.map(delete, objects), strict=True) if text}


def wait_gone(cluster: Cluster, objects: Sequence[Tracked], deadline: Deadline) -> tuple[Tracked, ...]:
    """Watch until no object with these UIDs exists; returns those that exist at the deadline, with the reason.

    If the API server stops answering, objects whose deletion was not seen count as left.
    """
    return Departure(cluster, objects).wait(deadline)


class Departure:
    """Objects that are being deleted, and volumes that may still be created for claims among them.

    A provisioner that is busy when its claim is deleted finishes; the cluster then deletes the volume.
    `claims` are the UIDs of claims whose volumes are waited for as soon as they exist.
    """

    def __init__(self, cluster: Cluster, objects: Sequence[Tracked], claims: Collection[str] = ()) -> None:
        self.late: list[Object] = []
        self._cluster = cluster
        self._claims = frozenset(claims)
        self._present = {item.uid: item for item in objects}
        self._said: set[tuple[str, str]] = set()
        self._watched: dict[Subject, set[str]] = {}
        for item in objects:
            self._watched.setdefault(_subject(item), set()).add(item.uid)
        if self._claims:
            self._watched.setdefault(_VOLUMES, set())

    def wait(self, deadline: Deadline, *, at_least: float = 0.0, renew: bool = False) -> tuple[Tracked, ...]:
        """Wait until all are deleted, and `at_least` these seconds for late volumes; returns what is left.

        `late` then has those volumes. With `renew` the deadline limits the time without news: it begins again when an
        object is gone, or says something new of what it waits for, as a namespace does of its contents.
        """
        if not self._watched:
            return ()
        trouble = ""
        try:
            with Observer(self._cluster, list(self._watched), deadline) as observer:
                for change in observer.changes(tick=_TICK):
                    if change is not None and self._account(change) and renew:
                        deadline.renew()
                    if not self._present and deadline.elapsed >= at_least:
                        return ()
        except ApiError as error:
            trouble = str(error)
        return tuple(replace(item, why=item.why or trouble or "still exists") for item in self._present.values())

    def _account(self, change: Change) -> bool:
        """Take the change into account; returns whether an object is gone, or says what it has not said before."""
        before, said = set(self._present), len(self._said)
        seen = {item["metadata"]["uid"]: item for item in change.objects}
        uids = self._watched[change.subject]
        if change.subject == _VOLUMES:
            self._notice(seen)
        if change.type == "RESET":
            for uid in uids - set(seen):
                self._present.pop(uid, None)
        for uid in uids & set(seen):
            if change.type == "DELETED":
                self._present.pop(uid, None)
            elif uid in self._present:
                self._present[uid] = replace(self._present[uid], why=_holder(seen[uid]))
                self._said.add((uid, self._present[uid].why))
        return not before <= self._present.keys() or len(self._said) > said

    def _notice(self, seen: Mapping[str, Object]) -> None:
        """Wait for volumes of the claims, too, once they are seen."""
        for uid, found in seen.items():
            claim = (found["spec"].get("claimRef") or {}).get("uid")
            if claim in self._claims and uid not in self._watched[_VOLUMES] and is_provisioned(found):
                volume = {"apiVersion": "v1", "kind": "PersistentVolume", **found}
                self._watched[_VOLUMES].add(uid)
                self._present[uid] = Tracked.of(volume)
                self.late.append(volume)
                with contextlib.suppress(ApiError):
                    let_go(self._cluster, volume)


def _subject(item: Tracked) -> Subject:
    return Subject(item.ref.api_version, item.ref.kind, item.ref.namespace, fields=f"metadata.name={item.ref.name}")


def _holder(obj: Object) -> str:
    """Why an object is not deleted yet, from its conditions or finalizers."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta:
        return "is not being deleted"
    said = [
        item["message"]
        for kind, item in conditions(obj).items()
        if item.get("status") == "True" and kind.startswith(("Namespace", "Deletion")) and item.get("message")
    ]
    holders = meta.get("finalizers") or (obj.get("spec") or {}).get("finalizers") or []
    return "; ".join(said) or f"is being deleted, finalizers: {', '.join(holders) or 'none'}"
