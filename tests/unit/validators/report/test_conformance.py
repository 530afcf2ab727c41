"""What is said of the gang-scheduling requirement of Kubernetes AI conformance."""

from __future__ import annotations

import pytest

from kubeflow_volcano.validators.report import html, markdown
from kubeflow_volcano.validators.report.conformance import conformance
from tests.samples import reports as report_samples

HELD = {"H1": "pass", "H2": "pass", "H3": "warn", "H4": "pass", "G6": "pass", "H8": "pass", "A1": "fail"}


def said(**verdicts: str) -> dict[str, str]:
    """Status of each case, and of all under ''."""
    (found,) = conformance({"id": id_, "status": status} for id_, status in (HELD | verdicts).items())
    assert found["id"] == "gang_scheduling"
    return {"": found["status"], **{case["case"]: case["status"] for case in found["cases"]}}


def test_checks_that_hold_show_every_case() -> None:
    assert set(said().values()) == {"shown"}


@pytest.mark.parametrize(
    ("verdicts", "case", "status"),
    [
        ({"H2": "fail"}, "negative", "not shown"),
        ({"H4": "error"}, "negative", "partly shown"),
        ({"G6": "skip"}, "positive", "partly shown"),
        ({"H3": "fail", "G6": "skip"}, "positive", "not shown"),
        ({"H8": "fail"}, "clean-up", "not shown"),
    ],
)
def test_a_check_that_does_not_hold_takes_its_case_with_it(verdicts: dict[str, str], case: str, status: str) -> None:
    found = said(**verdicts)
    assert (found[case], found[""]) == (status, status)
    assert [found[name] for name in found if name not in {case, ""}] == ["shown", "shown"]


def test_a_check_that_was_not_planned_shows_nothing() -> None:
    (found,) = conformance([{"id": "H2", "status": "pass"}, {"id": "H4", "status": "pass"}])
    assert {case["case"]: case["status"] for case in found["cases"]} == {
        "positive": "partly shown",
        "negative": "shown",
        "clean-up": "partly shown",
    }


def test_a_run_without_the_experiment_says_nothing() -> None:
    assert conformance([{"id": "A1", "status": "pass"}, {"id": "G6", "status": "pass"}]) == []


def test_the_reports_carry_it() -> None:
    report = report_samples.healthy()
    document = report.as_dict()
    page = html.render(document, report.evidence)
    assert "gang_scheduling" in page
    assert "kars/0053-gang-scheduling" in page
    assert "`gang_scheduling`, negative" in markdown.render(document)
    assert "gang_scheduling" not in markdown.render(report_samples.preflight().as_dict())
