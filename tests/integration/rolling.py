"""Roll-outs of parts of an installation."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.scope import Scope, scope_of
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["roll_out", "wire_gang"]


def roll_out(
    cluster: Cluster, settings: Settings, components: Sequence[Component], *, check: bool, progress: Progress
) -> ApplyResult:
    """These components whole."""
    return run.roll_out(cluster, settings, Scope(tuple(components)), check=check, progress=progress)


def wire_gang(cluster: Cluster, settings: Settings, *, check: bool, progress: Progress) -> ApplyResult:
    """What `--tags gang_scheduling` does."""
    return run.roll_out(cluster, settings, scope_of(settings, ["gang_scheduling"]), check=check, progress=progress)
