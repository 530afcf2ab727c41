"""Every fault case is proved by a test, and what the soak counts and shows is right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.__main__ import names_tests
from tests.faults.cases import CASES
from tests.faults.tally import Ran, render, summarize
from tests.places import ROOT


def test_every_case_has_a_test_and_every_mark_a_case() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    marks = {
        int(number)
        for text in texts
        for found in re.findall(r"mark\.fault\(([\d, ]+)\)", text)
        for number in found.split(",")
    }
    assert marks == set(CASES) == set(range(1, 45))


def test_a_run_of_a_case_is_all_of_its_tests_and_everything_wrong_is_counted() -> None:
    runs = [
        Ran((1, 2), 0, "t[turn0-a]", 1.0),
        Ran((1,), 0, "u[turn0]", 2.0, "wrong"),
        Ran((1, 2), 1, "t[turn1-a]", 3.0, "traceback", ["Pod default/x uid"]),
        Ran((2,), 2, "v[turn2]", 500.0),
    ]
    first, second = summarize(runs)
    assert (first.case, first.tests, first.seconds, first.wrong, first.tracebacks, first.left) == (1, 2, [3.0], 1, 1, 1)
    assert (second.tests, second.late, second.spoilt) == (2, 1, True)
    assert "| 1 | the API server is killed during a roll-out | 2 | 1 | 1 | 0 | 1 | 1 | 3.0 | 3.0 |" in render([first])


def test_the_record_of_a_former_run_is_no_place_of_tests(tmp_path: Path) -> None:
    record = tmp_path / "faults.jsonl"
    record.touch()
    assert not names_tests(["--times", "2", "--record", str(record)])
    assert names_tests(["--times", "2", f"{ROOT / 'tests/faults/test_pods.py'}::test_a"])


@pytest.mark.programs
def test_a_test_that_proves_a_case_with_some_of_its_parameters_is_repeated_with_these() -> None:
    file = "tests/faults/test_validator_faults.py"
    command = [sys.executable, "-m", "tests.faults", "--collect-only", "--times", "2", "--case", "3", file]
    listed = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    assert [line.partition("[")[2] for line in listed.splitlines() if "[" in line] == ["turn0-503]", "turn1-503]"]
