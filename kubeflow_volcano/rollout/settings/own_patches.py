"""Changes of upstream's manifests that the inventory declares: `kubeflow_patches`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
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


def validate_components(variable: str, names: Iterable[str], chosen: Collection[str], what: str) -> Iterator[Problem]:
    """Problems of a variable's entries for components that are not installed; `what` is the word for an entry."""
    for name in names:
        if name not in chosen:
            yield Problem(
                f"{variable}.{name}, which is no chosen component.{did_you_mean(name, chosen)}",
                f"one of: {', '.join(sorted(chosen))}.",
                f"correct the name, choose the component, or remove its {what}.",
            )
