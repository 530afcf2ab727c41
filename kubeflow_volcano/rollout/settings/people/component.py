"""The component without which a variable about people has no effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubeflow_volcano.problems import Problem


def validate_component(variable: str, name: str, why: str, chosen: Collection[str]) -> Iterator[Problem]:
    """The problem of a variable that is set if its component is not installed; `why` is what that does with it."""
    if name not in chosen:
        yield Problem(
            f"{variable} is set, and {name} is not installed by this inventory.",
            f"the component {name}, {why}.",
            f"set kubeflow_profile: full, add {name} to kubeflow_components, or remove {variable}.",
        )
