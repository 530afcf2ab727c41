"""Plain text for people."""

from __future__ import annotations

from kubeflow_volcano.text import counted, did_you_mean, few, table


def test_one_of_something_has_no_s() -> None:
    assert [counted(1, "node"), counted(2, "node"), counted(0, "entry", "entries")] == [
        "1 node",
        "2 nodes",
        "0 entries",
    ]


def test_a_short_list_is_whole() -> None:
    assert few(["a", "b"], 2) == "a, b"


def test_a_long_list_says_how_many_more_there_are() -> None:
    assert few(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert few(["a", "b", "c"], 2, "; ", "pod") == "a; b; and 1 more pod"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("node", "MB"), ("gpu-1", "7"), ("n", "1200")]

    assert table(rows, right={1}) == ["node     MB", "gpu-1     7", "n      1200"]
    assert table(rows) == ["node   MB", "gpu-1  7", "n      1200"]


def test_no_rows_are_no_lines() -> None:
    assert table([]) == []


def test_a_misspelt_word_is_answered_with_the_most_similar_one() -> None:
    assert did_you_mean("volcan", ["kubeflow", "volcano"]) == " Did you mean volcano?"
    assert did_you_mean("x", ["kubeflow", "volcano"]) == ""
