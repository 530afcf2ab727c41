"""Changes of upstream's manifests that the inventory declares: `kubeflow_patches`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.ceded import Target
from kubeflow_volcano.text import did_you_mean


@dataclass(frozen=True, slots=True)
class OwnPatch:
    """A change of one object.

    A mapping is merged strategically, as kustomize and `kubectl patch` do; a list has the operations of RFC 6902.
    """

    target: Target
    patch: Any


def validate_values(patches: Mapping[str, Sequence[OwnPatch]]) -> Iterator[Problem]:
    """Problems of values that JSON does not have: YAML takes 2026-01-01 for a date."""
    for name, entries in patches.items():
        for number, entry in enumerate(entries):
            for value in dict.fromkeys(map(repr, _not_of_json(entry.patch))):
                yield Problem(
                    f"kubeflow_patches.{name}[{number}] has the value {value:.80}, which is not of JSON.",
                    "texts, numbers, true, false, null, and lists and mappings of them.",
                    "put it in quotes, if it is to be a text.",
                )


def _not_of_json(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _not_of_json(inner)
    elif not isinstance(value, str | int | float | None):
        yield value


def validate_components(variable: str, names: Iterable[str], chosen: Collection[str], what: str) -> Iterator[Problem]:
    """Problems of a variable's entries for components that are not installed; `what` is the word for an entry."""
    for name in names:
        if name not in chosen:
            yield Problem(
                f"{variable}.{name}, which is no chosen component.{did_you_mean(name, chosen)}",
                f"one of: {', '.join(sorted(chosen))}.",
                f"correct the name, choose the component, or remove its {what}.",
            )
