"""Objects that declare nothing but their name, such as most ServiceAccounts and some namespaces."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.state.store import LABELS

_IDENTITY = frozenset({"name", "namespace"})


def mark_bare(objects: Iterable[Object]) -> None:
    """Label them: of an object that is applied without a field the API server records no manager.

    Without it only the inventory knows whose they are, and a roll-out that is killed has not written it yet.
    """
    for obj in objects:
        meta = obj["metadata"]
        fields = [value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}]
        if not any((*fields, *(value for key, value in meta.items() if key not in _IDENTITY))):
            meta["labels"] = dict(LABELS)
