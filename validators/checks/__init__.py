"""All checks, one module per family."""

from __future__ import annotations

from validators.checks import (
    account,
    aftermath,
    gang,
    images,
    legacy,
    machinery,
    meta,
    network,
    operator,
    reach,
    storage,
    trainer,
    volcano,
    workloads,
)
from validators.model import Check, natural

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *reach.CHECKS,
            *images.CHECKS,
            *legacy.CHECKS,
            *machinery.CHECKS,
            *workloads.CHECKS,
            *storage.CHECKS,
            *network.CHECKS,
            *account.CHECKS,
            *volcano.CHECKS,
            *aftermath.CHECKS,
            *operator.CHECKS,
            *trainer.CHECKS,
            *gang.CHECKS,
            *meta.CHECKS,
        ),
        key=lambda item: natural(item.id),
    )
)
"""Every check, by id."""
