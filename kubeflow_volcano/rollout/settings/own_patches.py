"""Changes of upstream's manifests that the inventory declares: `kubeflow_patches`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.ceded import Target
from kubeflow_volcano.text import did_you_mean

__all__ = ["OwnPatch", "validate_components"]


@dataclass(frozen=True, slots=True)
class OwnPatch:
    """A change of one object.

    A mapping is merged strategically, as kustomize and `kubectl patch` do; a list has the operations of RFC 6902.
    """

    target: Target
    patch: Any


def validate_components(patches: Mapping[str, Collection[OwnPatch]], chosen: Collection[str]) -> Iterator[Problem]:
    """Problems of patches for components that are not installed."""
    for name in patches:
        if name not in chosen:
            yield Problem(
                f"kubeflow_patches.{name}, which is no chosen component.{did_you_mean(name, chosen)}",
                f"one of: {', '.join(sorted(chosen))}.",
                "correct the name, choose the component, or remove its patches.",
            )
