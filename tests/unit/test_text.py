"""Plain text for people."""

from __future__ import annotations

import pytest

from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.text import counted, did_you_mean, few, table, visible


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


def test_control_characters_are_shown_as_text_and_lines_stay() -> None:
    assert visible("a\tb\r\nc\x1b[31md\x07\x9b\r\u202e\ud800é✓") == "a\tb\nc\\x1b[31md\\x07\\x9b\\r\\u202e\\ud800é✓"


def test_no_message_about_a_problem_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem("the API server says \x1b]0;owned\x07.", "an answer.\nIn lines.", "look.")
    to_stderr()("from a pod: \x1b[2J")
    for text in (str(problem), ProblemsError(problem).describe(), capsys.readouterr().err):
        assert "\x1b" not in text
        assert "\\x1b" in text
    assert "\nIn lines." in ProblemsError(problem).describe()
