"""A case of a scenario: a control, or a run with gang scheduling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gang_demo.model import Nodes, Outcome, Title
from gang_demo.play.stand import Stand
from kubeflow_volcano.cluster.objects import Object

__all__ = ["Case"]


@dataclass(frozen=True, slots=True)
class Case(Title):
    """One run of a scenario.

    `wiring` is who schedules jobs of the training operator meanwhile: none, volcano, or empty where it is no matter.
    `manifest` gives what a person would apply to see the same, for namespaces whose names begin with the given one.
    `run` creates it, watches, and judges the watch history. `seconds` is its limit.
    """

    wiring: str
    nodes: Nodes
    manifest: Callable[[str], Sequence[Object]]
    run: Callable[[Stand], Outcome]
    seconds: float = 90.0
