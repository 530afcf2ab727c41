"""Leftovers of earlier runs: objects with their label that have expired, or whose process has ended."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.experiment.remains import Tracked

EXPIRES = "kfv.io/expires"
"""Annotation of everything that a probe creates: when (RFC3339) another run may remove it."""

OWNER = "kfv.io/owner"
"""Annotation of everything that a probe creates: its process, as `this_process` returns it."""

_STARTED = 18  # index of the start time in /proc/<pid>/stat, after the state
_NAMESPACE = re.compile(r"kfv-(smoke|demo)-[0-9a-f]{8}(-[0-9a-z-]+)?")
KINDS = (
    ("kubeflow.org/v1beta1", "Experiment"),
    ("argoproj.io/v1alpha1", "Workflow"),
    *(("kubeflow.org/v1", kind) for kind in ("JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("batch.volcano.sh/v1alpha1", "Job"),
    ("kubeflow.org/v1", "Notebook"),
    ("tensorboard.kubeflow.org/v1alpha1", "Tensorboard"),
    ("serving.kserve.io/v1beta1", "InferenceService"),
    ("v1", "Service"),
    ("v1", "Pod"),
    *(item.podgroup for item in GANG_SCHEDULERS.values()),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Secret"),
)
"""What probes may leave in an existing namespace, in the order of deletion."""


def expired(
    cluster: Cluster, run: str, namespace: str = "", kinds: Sequence[tuple[str, str]] = ()
) -> tuple[Tracked, ...]:
    """Leftovers of runs other than `run`: whole probe namespaces, or what is inside the one `namespace`.

    Of the cluster-scoped `kinds`, everything with the label.

    What a killed run of this machine left counts at once, without waiting for its expiry.

    Raises:
        ApiError: they cannot be listed.
    """
    if namespace:
        inside = tuple(item for kind in KINDS for item in _find(cluster, run, *kind, namespace))
    else:
        spaces = _find(cluster, run, "v1", "Namespace", "")
        inside = tuple(item for item in spaces if _NAMESPACE.fullmatch(item.ref.name))
    return (*inside, *(item for kind in kinds for item in _find(cluster, run, *kind, "")))


def _find(cluster: Cluster, run: str, api_version: str, kind: str, namespace: str) -> Iterator[Tracked]:
    try:
        items = cluster.list(api_version, kind, namespace=namespace, labels=RUN_LABEL).items
    except NotServed:
        return
    except ApiError as error:
        # A run without permission to list a kind does not create it either.
        if not namespace or error.status != HTTPStatus.FORBIDDEN:
            raise
        return
    for item in items:
        meta = item["metadata"]
        notes = meta.get("annotations") or {}
        over = _seconds(notes.get(EXPIRES)) < time.time() or _has_ended(notes.get(OWNER, ""))
        if meta["labels"][RUN_LABEL] != run and over:
            yield Tracked.of(item)


def this_process(pid: int | str = "self") -> str:
    """Boot ID, pid namespace, pid and start time, which identify a process; empty if it has ended."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116  Path.stat says no more
        number, _, rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").partition(" ")
        state, *fields = rest.rpartition(")")[2].split()
        return "" if state == "Z" else f"{boot} {space} {number} {fields[_STARTED]}"
    except OSError:
        return ""


def _has_ended(owner: str) -> bool:
    """Whether that process ran on this machine and has ended."""
    mine = this_process()
    if not owner or not mine or owner.split()[:2] != mine.split()[:2]:
        return False
    return this_process(owner.split()[2]) != owner


def _seconds(text: str | None) -> float:
    """RFC3339 as seconds since the epoch; what cannot be read never expires."""
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return float("inf")
