"""Experiments: each acts on the cluster for a moment, records what happened, and removes what it made. Never judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import Progress
from validators.core.facts import Facts
from validators.probes import node_settings
from validators.probes.gang import gang
from validators.probes.network import dns, front_door, login, network
from validators.probes.operator import trainer, training
from validators.probes.storage import own_volumes, storage

__all__ = ["PROBES"]

PROBES: Mapping[str, Callable[[Session, Facts, Progress], Any]] = MappingProxyType(
    {
        "node-settings": node_settings.run,
        "storage": storage.run,
        "own-volumes": own_volumes.run,
        "gang": gang.run,
        "operator": training.run,
        "trainer": trainer.run,
        "dns": dns.run,
        "gateway": front_door.run,
        "login": login.run,
        "network": network.run,
    }
)
"""Every probe by the name under which checks ask for its evidence."""
