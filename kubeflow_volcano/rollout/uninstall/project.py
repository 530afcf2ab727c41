"""The project's own namespace, which goes last: lock, records and the Secrets with passwords."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kubeflow_volcano.apply.removing.contents import contents_of
from kubeflow_volcano.apply.removing.ending import wait_for_end
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, Place
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.stores import SECRETS
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES
from kubeflow_volcano.rollout.state.ledger import LEDGER
from kubeflow_volcano.rollout.state.lock import LEASE, holder_of
from kubeflow_volcano.rollout.state.store import LABELS, NAMESPACE
from kubeflow_volcano.rollout.uninstall.plan import DATA, Kept, by_name
from kubeflow_volcano.text import counted, few

_SPACE = Ref("v1", "Namespace", "", NAMESPACE)
_OWN = (LEASE, LEDGER, APPLIED_OBJECTS, CREATED_QUEUES, *SECRETS)
_SECONDS = 60.0


class Project:
    """What is there of it. `kept` says why it stays; it goes if that is empty."""

    def __init__(
        self, cluster: Cluster, *, whole: bool, needed: str, data: Sequence[str], gone: Collection[Ref] = ()
    ) -> None:
        """`needed` says for what its record is still needed; empty if for nothing.

        `gone` are objects that check mode predicts to be gone.

        Raises:
            ApiError: the API server does not answer.
        """
        self._cluster = cluster
        self._space = cluster.get(_SPACE)
        self._own = [live for ref in _OWN if (live := cluster.get(ref))] if self._space and whole else []
        self._gone = {Place.of(ref) for ref in (*gone, *_OWN)}
        secrets = [ref for item in self._own if (ref := Ref.of(item)) in SECRETS]
        self._leaving = tuple(ref for ref in secrets if str(ref) in data)
        self._staying = tuple(ref for ref in secrets if str(ref) not in data)
        self.kept = tuple(self._reasons(needed)) if self._space and whole else ()
        self._whole = whole

    @property
    def going(self) -> tuple[Ref, ...]:
        """The objects that go."""
        if not self._whole or self._space is None:
            return ()
        if self.kept:
            return self._leaving
        own = [Ref.of(item) for item in self._own]
        return (*own, _SPACE) if self._is_ours else tuple(own)

    def remove(self, progress: Progress) -> Sequence[Ref]:
        """Remove it, after the lock was released; returns what is gone. Another run that holds the lock keeps it.

        Raises:
            ApiError: the API server refuses it.
        """
        going = set(self.going)
        if LEASE in going:
            if holder_of(self._cluster):
                progress("another run has begun meanwhile; the project's namespace stays")
                return ()
            lease = self._cluster.get(LEASE)
            meta = lease["metadata"] if lease else {}
            if meta and not self._cluster.delete(LEASE, uid=meta["uid"], version=meta["resourceVersion"]):
                progress("another run has begun meanwhile; the project's namespace stays")
                return ()
        live = [item for item in (*self._own, self._space) if item and Ref.of(item) in going]
        uids = {Ref.of(item): item["metadata"]["uid"] for item in live}
        for ref, uid in uids.items():
            if ref != LEASE:
                self._cluster.delete(ref, uid=uid)
        left = wait_for_end(self._cluster, uids, Deadline(_SECONDS), progress)
        return [ref for ref in uids if ref not in left]

    @property
    def _is_ours(self) -> bool:
        labels = (self._space or {"metadata": {}})["metadata"].get("labels") or {}
        return labels.items() >= LABELS.items()

    def _reasons(self, needed: str) -> Iterator[Kept]:
        for ref in self._staying:
            yield Kept(ref, DATA, f"it keeps {SECRETS[ref][0]}, with which a reinstallation goes on", by_name([ref]))
        if self._staying:
            yield Kept(_SPACE, "in use", f"{few([*map(str, self._staying)], 4)} is in it")
        elif needed:
            yield Kept(_SPACE, "in use", f"its record is needed: {needed}")
        elif others := self._others():
            names = [f"{item['kind']} {item['metadata']['name']}" for item in others]
            yield Kept(_SPACE, "in use", f"it still has {counted(len(others), 'object')}: {few(names, 4)}")

    def _others(self) -> list[Object]:
        contents = contents_of(self._cluster, [NAMESPACE], Deadline(_SECONDS))
        return [item for item in contents.objects.get(NAMESPACE, ()) if Place.of(Ref.of(item)) not in self._gone]
