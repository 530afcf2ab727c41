"""The Leases by which the controller manager and the scheduler of Kubernetes show that one of them acts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.deadline import Deadline

_LEASE_SECONDS = 60.0
"""Of a Lease that does not say for how long it holds."""
_RENEWAL_SECONDS, _PAUSE_SECONDS = 5.0, 1.0
"""A leader renews its Lease every 2 s (--leader-elect-retry-period of both)."""


@dataclass(frozen=True, slots=True)
class Leader:
    """A program of the control plane, and what does not happen while it does not act."""

    program: str
    without: str

    @property
    def lease(self) -> Ref:
        """Held by the one that acts."""
        return Ref("coordination.k8s.io/v1", "Lease", "kube-system", self.program)

    @property
    def todo(self) -> str:
        """How it acts again."""
        return (
            f"start {self.program}, whose log says why it does not act; if it runs with --leader-elect=false, delete "
            "this Lease, which is not renewed then."
        )

    def expired(self, cluster: Cluster) -> str:
        """When the Lease was renewed last, if it has expired and is not renewed; else empty, and without a Lease.

        Raises:
            ApiError: it may not be read.
        """
        renewed, seconds = self._renewed(cluster)
        if not renewed or time.time() - datetime.fromisoformat(renewed).timestamp() < seconds:
            return ""
        for _ in Deadline(_RENEWAL_SECONDS).every(_PAUSE_SECONDS):
            if self._renewed(cluster)[0] != renewed:  # the clocks differ
                return ""
        return renewed

    def _renewed(self, cluster: Cluster) -> tuple[str, float]:
        """When the Lease was renewed last, empty without one; and the seconds that it holds."""
        spec = (cluster.get(self.lease) or {}).get("spec") or {}
        return str(spec.get("renewTime") or ""), float(spec.get("leaseDurationSeconds") or _LEASE_SECONDS)


CONTROLLERS = Leader(
    "kube-controller-manager",
    "no Deployment and no Job gets a pod, no Service an address, no namespace its ServiceAccount, and none is deleted",
)
SCHEDULER = Leader("kube-scheduler", "no pod gets a node but those that another scheduler places")
LEADERS = (CONTROLLERS, SCHEDULER)
