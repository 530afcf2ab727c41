"""What probes made, and the proof by UID that it is gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.watching import Observer, Subject

__all__ = ["Cleanup", "Tracked", "delete_all", "wait_gone"]

_TICK = 0.2


@dataclass(frozen=True, slots=True)
class Tracked:
    """One object that exists because of a probe. `why` says what holds it when it could not be removed."""

    ref: Ref
    uid: str
    why: str = ""

    @classmethod
    def of(cls, obj: Object) -> Tracked:
        """The identity of a live object."""
        return cls(Ref.of(obj), obj["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Cleanup:
    """A session's account: what it made or caused, what of it is proved gone, what is left, and how long that took.

    `swept` are leftovers of earlier runs that were removed too; those that would not go are in `left`.
    """

    created: tuple[Tracked, ...]
    removed: tuple[Tracked, ...]
    left: tuple[Tracked, ...]
    swept: tuple[Tracked, ...]
    seconds: float


def delete_all(cluster: Cluster, objects: Iterable[Tracked], deadline: Deadline) -> dict[Tracked, str]:
    """Ask for the removal of each object by UID, without grace; returns the refusals by object."""

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
    """Watch until no object with these UIDs exists; returns those that still do at the deadline, with the cause.

    An API server that no longer answers proves nothing: what was not seen to go counts as left.
    """
    present = {item.uid: item for item in objects}
    watched: dict[Subject, set[str]] = {}
    for item in objects:
        watched.setdefault(_subject(item), set()).add(item.uid)
    trouble = ""
    try:
        with Observer(cluster, list(watched), deadline) as observer:
            for change in observer.changes(tick=_TICK):
                if change is not None:
                    _account(present, watched[change.subject], change.type, change.objects)
                if not present:
                    return ()
    except ApiError as error:
        trouble = str(error)
    return tuple(replace(item, why=item.why or trouble or "still exists") for item in present.values())


def _subject(item: Tracked) -> Subject:
    return Subject(item.ref.api_version, item.ref.kind, item.ref.namespace, fields=f"metadata.name={item.ref.name}")


def _account(present: dict[str, Tracked], uids: set[str], kind: str, objects: Sequence[Object]) -> None:
    seen = {item["metadata"]["uid"]: item for item in objects}
    if kind == "RESET":
        for uid in uids - set(seen):
            present.pop(uid, None)
    for uid in uids & set(seen):
        if kind == "DELETED":
            present.pop(uid, None)
        elif uid in present:
            present[uid] = replace(present[uid], why=_holder(seen[uid]))


def _holder(obj: Object) -> str:
    """What keeps an object from going, in its own words."""
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
