"""A report beside an earlier one: what is new, fixed, still there, or unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.report import files
from kubeflow_volcano.validators.report.baseline import compare, read
from kubeflow_volcano.validators.report.document import Report
from tests.samples.facts import facts, ref


def report(*statuses: str, uid: str = "cluster", baseline: Any = None) -> Report:
    outcomes = [
        Outcome(Status(status), "Reason", "found", objects=(ref("Node", "n1"),), todo="mend it") for status in statuses
    ]
    results = [Result(check, outcome, 1.0, 0.1) for check, outcome in zip(CHECKS, outcomes, strict=False)]
    known = facts(cluster_uid=uid)
    return Report("0123abcd", {}, "a", "1.9.1", "given", 1.0, 2.0, 1.0, results, known, baseline=baseline)


def ids(changes: Any) -> list[str]:
    return [item["id"] for item in changes]


def test_each_finding_is_new_fixed_still_there_or_unknown() -> None:
    before = report("pass", "fail", "warn", "error", "fail", "skip").as_dict()
    found = report("warn", "pass", "fail", "skip", "error", "fail", baseline=before).as_dict()["baseline"]
    first, second, third, fourth, fifth, sixth = (item.id for item in CHECKS[:6])
    assert ids(found["new"]) == [first, sixth]
    assert ids(found["fixed"]) == [second]
    assert ids(found["still"]) == [third, fifth]
    assert ids(found["unjudged"]) == [fourth]
    assert (found["still"][0]["before"], found["still"][0]["now"]) == ("warn", "fail")


def test_a_check_that_was_not_chosen_this_time_is_not_called_fixed() -> None:
    before = report("pass", "fail").as_dict()
    found = report("pass", baseline=before).as_dict()["baseline"]
    assert (ids(found["unjudged"]), found["unjudged"][0]["now"], found["fixed"]) == ([CHECKS[1].id], None, [])


@pytest.mark.parametrize(("before", "now", "same"), [("a", "a", True), ("a", "b", False), ("", "b", None)])
def test_another_cluster_is_told(before: str, now: str, *, same: bool | None) -> None:
    assert compare(report("pass", uid=before).as_dict(), [], now)["same_cluster"] is same


def test_what_was_written_can_be_read_as_a_baseline(tmp_path: Path) -> None:
    files.write(report("fail"), tmp_path)
    assert read(tmp_path / "latest.json") == report("fail").as_dict()


def test_reports_of_before_there_was_a_snapshot_can_still_be_compared_with(tmp_path: Path) -> None:
    old = report("fail").as_dict()
    for key in ("snapshot", "baseline"):
        del old[key]
    for item in old["checks"]:
        del item["remediation"]["url"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert read(tmp_path / "old.json") == old


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "cannot be read"), ("{", "is not JSON"), ('{"schema": "x"}', "is not a report"), ("[]", "is not a report")],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    path = tmp_path / "before.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidInput, match=told) as caught:
        read(path)
    assert "--baseline" in str(caught.value) or "name one" in str(caught.value)


def test_a_comparison_never_shows_in_a_report_without_baseline() -> None:
    assert replace(report("fail"), baseline=None).as_dict()["baseline"] is None
