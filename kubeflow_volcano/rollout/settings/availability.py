"""How many pods the programs of Volcano and the training operator have, of which one leads, and when that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.operator import era_of
from kubeflow_volcano.problems import Problem

__all__ = ["AvailabilitySettings", "availability_settings", "leaderless", "strange_availability"]


@dataclass(frozen=True, slots=True)
class AvailabilitySettings:
    """How many pods each Deployment is to have; 1 leaves the manifests as they are."""

    volcano: int = 1
    operator: int = 1


def availability_settings(values: Mapping[str, Any]) -> AvailabilitySettings:
    """From well-shaped variables."""
    return AvailabilitySettings(values["volcano_replicas"], values["gang_scheduling_operator_replicas"])


def strange_availability(asked: AvailabilitySettings, operator: str) -> Iterator[Problem]:
    """What cannot be had with the release's training operator; `operator` is its version, empty where it has none."""
    if asked.operator == 1:
        return
    if not operator:
        yield Problem(
            f"gang_scheduling_operator_replicas is {asked.operator}, and no training operator is chosen.",
            "the component training-operator; Trainer is told by its own configuration.",
            "remove gang_scheduling_operator_replicas, or choose training-operator.",
        )
    elif not era_of(operator).elects_leader:
        yield leaderless(asked.operator, operator)


def leaderless(replicas: int, version: str) -> Problem:
    """The problem of several pods of an operator version that cannot elect a leader."""
    return Problem(
        f"gang_scheduling_operator_replicas is {replicas}; training operator {version} cannot elect a leader: the "
        "name of its Lease is not a valid one.",
        "one pod, or training operator 1.6.0 or later.",
        "remove gang_scheduling_operator_replicas, or choose a later release.",
    )
