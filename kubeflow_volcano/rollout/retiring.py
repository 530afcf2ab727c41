"""What stood beside a Deployment of several pods goes when it has one again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.availability import ADDED, beside
from kubeflow_volcano.rollout.compare import owned_by
from kubeflow_volcano.rollout.result import Action, ObjectOutcome

__all__ = ["retire"]

_LABELS = ",".join(f"{key}={value}" for key, value in ADDED.items())


def retire(cluster: Cluster, objects: Iterable[Object], *, check: bool) -> Iterator[ObjectOutcome]:
    """Remove what was put beside the Deployments of `objects` and is no longer among these.

    Only what this project applied is removed, and by its UID; in check mode it is only told.

    Raises:
        ApiError: it may not be read or removed.
    """
    declared = tuple(objects)
    wanted = {Ref.of(obj) for obj in declared}
    former = {ref for obj in declared for ref in beside(obj)} - wanted
    for version, kind in sorted({(ref.api_version, ref.kind) for ref in former}):
        for live in _labelled(cluster, version, kind):
            ref = Ref.of(live)
            if ref not in former or owned_by(live, MANAGER) is None:
                continue
            if not check:
                cluster.delete(ref, uid=live["metadata"]["uid"])
            yield ObjectOutcome(ref, Action.REMOVED, live, None)


def _labelled(cluster: Cluster, version: str, kind: str) -> Sequence[Object]:
    return cluster.list(version, kind, labels=_LABELS).items
