"""All checks, one module per family."""

from __future__ import annotations

from validators.checks import gang, machinery, operator, reach, storage, volcano, workloads
from validators.model import Check, natural

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *reach.CHECKS,
            *machinery.CHECKS,
            *workloads.CHECKS,
            *storage.CHECKS,
            *volcano.CHECKS,
            *operator.CHECKS,
            *gang.CHECKS,
        ),
        key=lambda item: natural(item.id),
    )
)
"""Every check, by id."""
