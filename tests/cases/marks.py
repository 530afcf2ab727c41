"""Looks as parameters of a test."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from _pytest.mark import ParameterSet

from tests.cases.case import Look


def parameters(found: Mapping[str, Look]) -> list[ParameterSet]:
    """Each look; an open one must fail, and only by its answer, until its folder no longer calls it open."""
    return [pytest.param(look, id=name, marks=_marks(look)) for name, look in found.items()]


def _marks(look: Look) -> tuple[pytest.MarkDecorator, ...]:
    wrong = pytest.mark.xfail(reason=look.open or "not tried yet", raises=AssertionError, strict=not look.untried)
    return (*((wrong,) if look.open or look.untried else ()), *((pytest.mark.long,) if look.long else ()))
