"""What settings are refused with."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.settings import parse


def problems(**variables: Any) -> tuple[Problem, ...]:
    """Of an inventory with these variables; none where it is accepted."""
    try:
        parse(variables)
    except InvalidInput as error:
        return error.problems
    return ()
