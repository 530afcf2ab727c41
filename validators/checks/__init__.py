"""All checks, one module per family."""

from __future__ import annotations

from validators.checks import (
    account,
    admission,
    aftermath,
    certificates,
    gang,
    images,
    legacy,
    machinery,
    meta,
    namespaces,
    network,
    node_facts,
    nodes,
    operator,
    owners,
    reach,
    storage,
    trainer,
    versions,
    volcano,
    volumes,
    workloads,
)
from validators.model import Check, natural

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *reach.CHECKS,
            *nodes.CHECKS,
            *node_facts.CHECKS,
            *images.CHECKS,
            *owners.CHECKS,
            *legacy.CHECKS,
            *versions.CHECKS,
            *machinery.CHECKS,
            *admission.CHECKS,
            *certificates.CHECKS,
            *namespaces.CHECKS,
            *workloads.CHECKS,
            *storage.CHECKS,
            *volumes.CHECKS,
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
