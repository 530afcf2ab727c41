"""Family P, preflight: checks of hosts, each judged over the facts of all hosts at once."""

from __future__ import annotations

from kubeflow_volcano.validators.core.check import Check, natural
from kubeflow_volcano.validators.hosts import (
    access,
    cgroups,
    clock,
    cluster,
    kernel,
    network,
    resources,
    runtime,
    security,
    system,
)

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            *access.CHECKS,
            *system.CHECKS,
            *kernel.CHECKS,
            *cgroups.CHECKS,
            *runtime.CHECKS,
            *security.CHECKS,
            *resources.CHECKS,
            *clock.CHECKS,
            *network.CHECKS,
            *cluster.CHECKS,
        ),
        key=lambda item: natural(item.id),
    )
)
"""Every check of hosts, by id."""
