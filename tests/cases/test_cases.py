"""Each case from the field is answered rightly, or its folder says what is said instead."""

from __future__ import annotations

import pytest

from tests.cases.asking import answer_of
from tests.cases.case import Look, looks
from tests.cases.marks import parameters


@pytest.mark.parametrize("look", parameters(looks(on_cluster=False)))
def test_what_is_said_without_a_cluster_is_right(look: Look) -> None:
    answer = answer_of(look)
    assert look.right.missed_by(answer) == [], answer
