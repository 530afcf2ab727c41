"""Problems that are found where no variable is known say which one helps, once a roll-out reports them."""

from __future__ import annotations

import pytest

from kubeflow_volcano.apply.problems import CONFLICTING_FIELDS
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.hints import HINTS
from kubeflow_volcano.rollout.settings.variables import defaults

FIELDS = "[{kind: ConfigMap, name: one, paths: [/data/a]}]"


@pytest.mark.parametrize("reason", HINTS)
def test_every_hint_names_a_variable(reason: str) -> None:
    hinted = Problem("a.", "b.", "c.", reason, {"fields": FIELDS}).hinted(HINTS)
    assert any(name in hinted.todo for name in defaults())
    assert hinted.hinted(HINTS) == hinted


def test_the_entry_for_fields_of_others_can_be_copied() -> None:
    problem = Problem("a.", "b.", "c.", CONFLICTING_FIELDS, {"fields": FIELDS}).hinted(HINTS)
    assert problem.todo.endswith(f"kubeflow_ceded_fields: {FIELDS}")
    assert problem.as_dict().keys() == {"found", "needed", "todo"}


def test_other_problems_stay_as_they_are() -> None:
    assert Problem("a.", "b.", "c.").hinted(HINTS) == Problem("a.", "b.", "c.")
