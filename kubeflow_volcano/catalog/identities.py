"""Users and groups of the workloads that write to volumes; the storage probe uses them where none of these runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.model import VersionRange
from kubeflow_volcano.decode import decode


@dataclass(frozen=True, slots=True)
class Identity:
    """User and groups of a workload in a range of Kubeflow releases; None: the image decides."""

    workload: str
    releases: VersionRange
    run_as_user: int | None
    run_as_group: int | None
    fs_group: int | None
    fs_group_change_policy: str | None


@cache
def identities() -> tuple[Identity, ...]:
    """Every identity in the catalog."""
    return decode(tuple[Identity, ...], load("identities")["identities"], "identities")
