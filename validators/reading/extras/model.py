"""What a further fact is. Knows no checks and no clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.api.client import Cluster
from validators.core.facts import Facts

__all__ = ["Extra"]


@dataclass(frozen=True, slots=True)
class Extra:
    """One further fact: the field of Facts, the checks that read it, how it is fetched, and its key in `unread`.

    Without checks it stands in every report.
    """

    field: str
    checks: frozenset[str]
    fetch: Callable[[Cluster, Facts], Any]
    key: str = ""
    """Empty where the fact only enriches messages."""
    changes_nothing: bool = True
    """False for a dry run: it is left out of a read-only validation."""
