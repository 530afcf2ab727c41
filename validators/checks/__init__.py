"""All checks, one module per family."""

from __future__ import annotations

from validators.checks import account, gang, images, machinery, operator, reach, storage, trainer, volcano, workloads
from validators.model import Check, natural

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *reach.CHECKS,
            *images.CHECKS,
            *machinery.CHECKS,
            *workloads.CHECKS,
            *storage.CHECKS,
            *account.CHECKS,
            *volcano.CHECKS,
            *operator.CHECKS,
            *trainer.CHECKS,
            *gang.CHECKS,
        ),
        key=lambda item: natural(item.id),
    )
)
"""Every check, by id."""
