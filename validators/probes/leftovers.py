"""What earlier runs left behind: found by their label, past their own expiry, never by age or name alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import NotServed
from validators.facts import RUN_LABEL
from validators.probes.remains import Tracked

__all__ = ["EXPIRES", "expired"]

EXPIRES = "kfv.io/expires"
"""Annotation of everything that a probe creates: when (RFC3339) another run may remove it."""

_NAMESPACE = re.compile(r"kfv-smoke-[0-9a-f]{8}(-baseline|-privileged)?")
# What probes may leave in a namespace that is not theirs, in the order of removal.
_KINDS = (
    ("kubeflow.org/v1", "TFJob"),
    ("v1", "Pod"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("v1", "PersistentVolumeClaim"),
)


def expired(cluster: Cluster, run: str, namespace: str = "") -> tuple[Tracked, ...]:
    """Expired leftovers of runs other than `run`: whole probe namespaces, or what is inside the one `namespace`.

    Raises:
        ApiError: they cannot be listed.
    """
    if namespace:
        return tuple(item for kind in _KINDS for item in _find(cluster, run, *kind, namespace))
    return tuple(item for item in _find(cluster, run, "v1", "Namespace", "") if _NAMESPACE.fullmatch(item.ref.name))


def _find(cluster: Cluster, run: str, api_version: str, kind: str, namespace: str) -> Iterator[Tracked]:
    try:
        found = cluster.list(api_version, kind, namespace=namespace, labels=RUN_LABEL).items
    except NotServed:
        return
    for item in found:
        meta = item["metadata"]
        end = _seconds((meta.get("annotations") or {}).get(EXPIRES))
        if meta["labels"][RUN_LABEL] != run and end < time.time():
            yield Tracked.of(item)


def _seconds(text: str | None) -> float:
    """RFC3339 as seconds since the epoch; what cannot be read never expires."""
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return float("inf")
