"""All checks, one module per family."""

from __future__ import annotations

from validators.checks.gang import gang
from validators.checks.machinery import admission, certificates, machinery, namespaces
from validators.checks.meta import meta
from validators.checks.network import account, network
from validators.checks.operator import operator, trainer
from validators.checks.reach import images, legacy, node_facts, nodes, owners, reach, versions
from validators.checks.storage import storage, volumes
from validators.checks.volcano import aftermath, volcano
from validators.checks.workloads import workloads
from validators.core.check import Check, natural

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
