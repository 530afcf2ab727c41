"""Roll-outs of parts of an installation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.scope import Scope, scope_of
from kubeflow_volcano.rollout.settings.settings import Settings


def own_sources(kubeconfig: Path) -> dict[str, Any]:
    """Variables for the manifests and the kustomize that come with a rehearsal cluster."""
    upstream = kubeconfig.parent / "upstream"
    return {
        "kubeflow_sources": {"training-operator": str(upstream / "training-operator/manifests/overlays/standalone")},
        "volcano_source": str(upstream / "volcano/installer/volcano-development.yaml"),
        "kustomize_binary": str(kubeconfig.parent / "bin/kustomize"),
    }


def roll_out(
    cluster: Cluster, settings: Settings, components: Sequence[Component], *, check: bool, progress: Progress
) -> ApplyResult:
    """These components whole."""
    return run.roll_out(cluster, settings, Scope(tuple(components)), check=check, progress=progress)


def wire_gang(cluster: Cluster, settings: Settings, *, check: bool, progress: Progress) -> ApplyResult:
    """What `--tags gang_scheduling` does."""
    return run.roll_out(cluster, settings, scope_of(settings, ["gang_scheduling"]), check=check, progress=progress)
