"""What a person may choose about probes."""

from __future__ import annotations

from dataclasses import dataclass

from kubeflow_volcano.experiment.session import Options
from validators.probes.network.credentials import Credentials

__all__ = ["ProbeOptions"]


@dataclass(frozen=True, slots=True)
class ProbeOptions(Options):
    """Beside what every session has: as whom the probe `login` signs in at the gateway, if at all."""

    login: Credentials | None = None
