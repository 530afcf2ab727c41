"""Choosing and waiving checks by the words that people use."""

from __future__ import annotations

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.run.selection import in_order, select, waivers

REACH = ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10"]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["A1"], ["A1"]),
        (["a1", "nodes"], ["A1", "A4"]),
        (["A"], REACH),
        (["reach"], REACH),
        (["A4 nodes"], ["A4"]),
    ],
)
def test_words_name_checks_and_families(words: list[str], ids: list[str]) -> None:
    assert [item.id for item in select(CHECKS, words)] == ids


def test_no_word_is_every_check() -> None:
    assert select(CHECKS, ()) == CHECKS


def test_every_unknown_word_is_told_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput) as caught:
        select(CHECKS, ["storag", "A1", "gang-flaq"])
    assert ["mean storage?" in str(item) for item in caught.value.problems] == [True, False]
    assert "Did you mean gang-flag?" in str(caught.value.problems[1])
    assert "A1 api-server" in str(caught.value.problems[0])


def test_a_waiver_needs_a_reason_and_reaches_a_whole_family() -> None:
    assert waivers(CHECKS, {"reach": "lab"}) == dict.fromkeys(REACH, "lab")
    with pytest.raises(InvalidInput, match="without a reason"):
        waivers(CHECKS, {"A1": " "})
    with pytest.raises(InvalidInput, match="Z9"):
        waivers(CHECKS, {"Z9": "why"})


def test_a_check_comes_behind_what_it_requires() -> None:
    ids = [item.id for item in in_order(CHECKS)]
    assert len(ids) == len(CHECKS)
    for item in CHECKS:
        assert all(ids.index(need) < ids.index(item.id) for need in item.requires)
