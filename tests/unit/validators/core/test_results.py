"""Verdict, coverage and exit code of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.problems import Exit, Problem
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status
from kubeflow_volcano.validators.core.results import Result, Verdict, summarise, worst
from kubeflow_volcano.validators.report.document import Report
from tests.samples.facts import ref

BLOCKER = next(item for item in CHECKS if item.severity is Severity.BLOCKER)
MINOR = next(item for item in CHECKS if item.severity is Severity.MINOR)


def results(*statuses: str, check: Check = BLOCKER) -> list[Result]:
    return [Result(check, Outcome(Status(status), "Reason", "message"), 0.0, 0.0) for status in statuses]


@pytest.mark.parametrize(
    ("statuses", "verdict", "coverage"),
    [
        (["pass", "pass"], "pass", 1.0),
        (["pass", "warn"], "warn", 1.0),
        (["pass", "fail", "warn"], "fail", 1.0),
        (["pass", "skip"], "pass", 1.0),
        (["pass", "error"], "incomplete", 0.5),
        (["pass", "error", "fail"], "fail", 2 / 3),
        (["skip"], "incomplete", 0.0),
    ],
)
def test_the_verdict_of_a_run(statuses: list[str], verdict: str, coverage: float) -> None:
    summary = summarise(results(*statuses))
    assert str(summary.verdict) == verdict
    assert summary.coverage == pytest.approx(coverage)


def test_an_error_of_a_check_that_gates_nothing_is_a_warning() -> None:
    assert summarise([*results("pass"), *results("error", check=MINOR)]).verdict is Verdict.WARN


def test_a_summary_says_what_was_left_out_and_what_could_not_be_evaluated_and_why() -> None:
    summary = summarise([*results("pass", "skip", "skip"), *results("error", check=MINOR)])
    assert summary.skipped == {"Reason": 2}
    assert summary.unevaluated == {MINOR.id: "Reason"}


ORDER = [130, 2, 5, 7, 1, 3, 6, 4, 0]


@pytest.mark.parametrize("index", range(len(ORDER) - 1))
def test_the_worst_exit_code_wins(index: int) -> None:
    assert worst([Exit(ORDER[index + 1]), Exit(ORDER[index])]) == ORDER[index]


def report(*statuses: str, strict: bool = False) -> Report:
    return Report("r", {}, "here", "1.9.1", "given", 0.0, 0.0, 0.0, results(*statuses), strict=strict)


def test_warnings_end_badly_only_when_strict() -> None:
    assert report("warn").exit_code == Exit.OK
    assert report("warn", strict=True).exit_code == Exit.WARNINGS


def test_leftovers_an_unwritten_report_and_a_signal_show_in_the_exit_code() -> None:
    found = report("pass")
    codes = [int(found.exit_code)]
    found = replace(found, cleanup=Cleanup((), (), (Tracked(ref("Node", "n1"), "uid"),), (), 0.0))
    codes.append(int(found.exit_code))
    found = replace(found, unwritten=Problem("a", "b", "c"))
    codes.append(int(found.exit_code))
    found = replace(found, interrupted=Exit.TERMINATED)
    assert [*codes, int(found.exit_code)] == [0, 6, 7, 143]
    assert report("error").exit_code == Exit.INCOMPLETE
    assert report("error", "fail").exit_code == Exit.CHECK_FAILED
