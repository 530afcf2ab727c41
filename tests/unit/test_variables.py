"""The declaration of variables refuses what nothing would read, and says limits once."""

from __future__ import annotations

import pytest

from tests.variables import declared

DECLARED = """
roles:
  plan:
    summary: A plan.
    description: [Plans.]
    variables:
      plan_minimum_cpu:
        type: int
        default: 4
        limits: {minimum: 1, maximum: 9}
        needed: CPUs, from {minimum} to {maximum}
        meaning: CPUs that the cluster must have.
definitions: {}
"""


def test_limits_are_part_of_what_messages_say_is_needed() -> None:
    rule = declared(DECLARED).variables["plan_minimum_cpu"].rule()
    assert rule == {
        "description": "CPUs, from 1 to 9",
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "default": 4,
    }


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("plan_minimum_cpu:", "minimum_cpu:"), ("default: 4", "default: 4\n        maximal: 9"), ("summary:", "about:")],
)
def test_a_declaration_that_is_not_read_as_meant_is_refused(right: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=r"minimum_cpu|maximal|about"):
        declared(DECLARED.replace(right, wrong))
