"""The JUnit report as a stranger reads it: junitparser, which knows nothing of this project."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from kubeflow_volcano.validators.report import junit
from kubeflow_volcano.validators.report.document import Report
from tests.samples import reports as samples


def loaded(report: Report, tmp_path: Path) -> Any:
    path = tmp_path / "report.xml"
    path.write_text(junit.render(report.as_dict(), report.evidence), encoding="utf-8")
    return JUnitXml.fromfile(str(path))


def kind(case: Any) -> str:
    marks = {"Failure": "fail", "Error": "error", "Skipped": "skip"}
    (mark,) = [marks[type(item).__name__] for item in case.result] or ["pass"]
    return mark


def test_every_check_is_a_case_of_its_family_with_the_same_verdict(tmp_path: Path) -> None:
    report = samples.broken()
    document = report.as_dict()
    cases = {case.name: (case.classname, kind(case)) for suite in loaded(report, tmp_path) for case in suite}
    told = {
        f"{item['id']} {item['title']}": (
            f"kfv.{item['category']}",
            "pass" if item["status"] == "warn" else item["status"],
        )
        for item in document["checks"]
    }
    assert cases == told
    assert {"fail", "error", "skip", "pass"} == {mark for _, mark in cases.values()}


@pytest.mark.parametrize("make", [samples.healthy, samples.broken, samples.hostile], ids=lambda make: make.__name__)
def test_the_counts_that_are_stated_are_those_of_the_cases(make: Any, tmp_path: Path) -> None:
    found = loaded(make(), tmp_path)
    total = 0
    for suite in found:
        counted = Counter(kind(case) for case in suite)
        assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
            sum(counted.values()),
            counted["fail"],
            counted["error"],
            counted["skip"],
        )
        total += suite.tests
    assert (found.tests, found.failures) == (total, sum(suite.failures for suite in found))


def test_a_warning_passes_and_is_told_and_fails_a_strict_run(tmp_path: Path) -> None:
    report = samples.broken()
    warned = next(item for item in report.as_dict()["checks"] if item["status"] == "warn")

    def case(of: Report) -> Any:
        return next(
            item for suite in loaded(of, tmp_path) for item in suite if item.name.startswith(f"{warned['id']} ")
        )

    assert kind(case(report)) == "pass"
    assert warned["message"] in case(report).system_out
    report = replace(report, arguments={"strict": True})
    assert kind(case(report)) == "fail"


def test_a_failure_says_found_needed_do_and_where_to_read_more(tmp_path: Path) -> None:
    report = samples.broken()
    (told,) = [item for item in report.as_dict()["checks"] if item["id"] == "A4"]
    (case,) = [case for suite in loaded(report, tmp_path) for case in suite if case.name.startswith("A4 ")]
    (failure,) = case.result
    assert (failure.type, failure.message) == (told["reason"], told["message"])
    for part in (told["message"], told["expected"], told["remediation"]["text"], "docs/checks.md#a4-nodes"):
        assert part in failure.text


def test_suites_say_what_was_judged(tmp_path: Path) -> None:
    for suite in loaded(samples.broken(), tmp_path):
        properties = {item.name: item.value for item in suite.properties()}
        assert (properties["kubernetes"], properties["kubeflow"], properties["verdict"]) == ("v1.30.2", "1.9.1", "fail")


def test_evidence_is_the_output_of_its_case(tmp_path: Path) -> None:
    report = samples.hostile()
    (case,) = [case for suite in loaded(report, tmp_path) for case in suite if case.name.startswith("A1 ")]
    assert "<script>" in case.system_out
    assert "]]>" in case.system_out
    assert "\x1b" not in case.system_out


@pytest.mark.fault(43)
def test_characters_that_xml_forbids_are_spelled_out_also_in_documents_that_were_not_made_here(tmp_path: Path) -> None:
    document = samples.broken().as_dict()
    document["checks"][0] |= {"status": "fail", "message": "a\x00b\x1bc\ud800d\uffffe", "title": "\x0b"}
    path = tmp_path / "report.xml"
    path.write_text(junit.render(document, {}), encoding="utf-8")
    (case,) = [case for suite in JUnitXml.fromfile(str(path)) for case in suite if case.name.startswith("A1 ")]
    assert case.result[0].message == r"a\x00b\x1bc\ud800d\uffffe"
