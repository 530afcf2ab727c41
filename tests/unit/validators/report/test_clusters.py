"""The report on several clusters: each is in it, nothing is told twice, and no text of a cluster is more than text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator
from junitparser import JUnitXml

from kubeflow_volcano.problems import Exit
from kubeflow_volcano.validators.core.check import natural
from kubeflow_volcano.validators.report import console, files, html, junit, markdown
from kubeflow_volcano.validators.report.clusters import Combined, Judged
from tests.samples import reports as samples
from tests.samples.clusters import PROBLEM, crowd, judged

SCHEMA = json.loads(
    (resources("kubeflow_volcano.validators") / "schemas" / "clusters.v1.json").read_text(encoding="utf-8")
)


def differing() -> str:
    """Id of a check that holds in one sample and fails in the other."""
    holds = {item["id"] for item in samples.healthy().as_dict()["checks"] if item["status"] == "pass"}
    return next(
        str(item["id"])
        for item in samples.broken().as_dict()["checks"]
        if item["status"] == "fail" and item["id"] in holds
    )


def faults(document: Mapping[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(SCHEMA).iter_errors(document)]


def test_the_document_follows_its_schema_and_counts_every_cluster_once() -> None:
    document = crowd().as_dict()

    assert faults(document) == []
    assert [(item["name"], item["verdict"], item["exit_code"]) for item in document["clusters"]] == [
        ("eu", "pass", 0),
        ("us", "fail", 1),
        ("gone", "incomplete", 3),
        ("ap", "fail", 1),
    ]
    summary = document["summary"]
    assert (summary["verdict"], summary["exit_code"], summary["clusters"]) == ("fail", 1, 4)
    assert (summary["pass"], summary["warn"], summary["fail"], summary["incomplete"]) == (1, 0, 2, 1)


@pytest.mark.parametrize(
    ("codes", "worst"),
    [
        ((Exit.OK, Exit.OK), Exit.OK),
        ((Exit.OK, Exit.INCOMPLETE), Exit.INCOMPLETE),
        ((Exit.CHECK_FAILED, Exit.INCOMPLETE), Exit.CHECK_FAILED),
        ((Exit.CHECK_FAILED, Exit.INTERRUPTED), Exit.INTERRUPTED),
    ],
)
def test_the_exit_code_is_the_worst(codes: tuple[Exit, ...], worst: Exit) -> None:
    assert Combined([Judged(str(number), code) for number, code in enumerate(codes)]).exit_code is worst


def test_a_finding_of_several_clusters_stands_once_with_their_names() -> None:
    document = crowd().as_dict()
    own = [item for item in samples.broken().as_dict()["checks"] if item["status"] in {"fail", "error", "warn"}]

    assert {tuple(row["clusters"]) for row in document["attention"]} == {("us", "ap")}
    assert sorted(check["id"] for row in document["attention"] for check in row["checks"]) == sorted(
        item["id"] for item in own
    )
    statuses = [row["status"] for row in document["attention"]]
    assert statuses == sorted(statuses, key=("fail", "error", "warn").index)


def test_every_check_has_its_status_on_every_cluster_that_was_judged() -> None:
    document = crowd().as_dict()
    healthy = {item["id"] for item in samples.healthy().as_dict()["checks"]}

    row = next(item for item in document["checks"] if item["id"] == differing())
    assert row["statuses"] == {"eu": "pass", "us": "fail", "ap": "fail"}
    assert {row["id"] for row in document["checks"] if "eu" in row["statuses"]} == healthy
    ids = [row["id"] for row in document["checks"]]
    assert ids == sorted(ids, key=natural)


def test_names_that_stand_for_one_cluster_are_told() -> None:
    twice = [judged(name, samples.healthy(), uid="one") for name in ("a", "b")]
    other = judged("c", samples.healthy(), uid="other")
    document = Combined([*twice, other]).as_dict()
    assert document["same_cluster"] == [["a", "b"]]
    for text in (
        console.render_clusters(document, {}),
        markdown.render_clusters(document),
        html.render_clusters(document),
    ):
        assert "same cluster" in text
    assert "same cluster" not in console.render_clusters(crowd().as_dict(), {})


def test_every_report_is_led_to_from_where_the_page_lies(tmp_path: Path) -> None:
    combined = files.write_clusters(crowd(tmp_path), tmp_path)

    assert combined.unwritten is None
    assert {Path(path).name for path in combined.files.values()} == {
        f"clusters-latest.{kind}" for kind in ("json", "md", "html", "xml")
    }
    document = json.loads((tmp_path / "clusters-latest.json").read_text("utf-8"))
    assert faults(document) == []
    named = {item["name"]: item["files"] for item in document["clusters"]}
    assert named["gone"] == {}
    page = (tmp_path / "clusters-latest.html").read_text("utf-8")
    links = {unquote(link) for link in re.findall(r'href="([^"#]+\.html)"', page)}
    assert links == {named[name]["html"] for name in ("eu", "us", "ap")}
    for link in links:
        assert "latest" not in link
        assert (tmp_path / link).read_bytes() == (tmp_path / Path(link).parent / "latest.html").read_bytes()


def test_a_page_stays_when_the_next_run_has_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        files.write_clusters(crowd(), tmp_path)
    assert len(list(tmp_path.glob("clusters-2*.html"))) == 2


def test_the_console_tells_failures_last_and_each_cluster_in_a_line() -> None:
    lines = console.render_clusters(crowd().as_dict(), {"md": "reports/clusters-latest.md"}).splitlines()

    assert lines[1] == "FAIL  2 failed, 1 incomplete, 1 passed"
    begins = [
        next(index for index, line in enumerate(lines) if line[3:].startswith(f"{name}  "))
        for name in ("eu", "gone", "us")
    ]
    assert begins == sorted(begins)
    marks = [line[1] for line in lines if re.match(r" [✗?!] ([A-Z]\d|\d+ checks)", line)]
    assert marks == sorted(marks, key="!?✗".index)
    assert set(marks) == {"!", "?", "✗"}
    assert lines.count("       on        us, ap") == len(marks)
    assert lines[-1] == "report  reports/clusters-latest.md"
    assert any(str(PROBLEM) in line for line in lines)
    assert "\x1b" not in "".join(lines)
    assert "\x1b[31m" in console.render_clusters(crowd().as_dict(), {}, colour=True)


def test_checks_that_are_well_everywhere_are_counted_and_not_listed() -> None:
    document = crowd().as_dict()
    well = [row for row in document["checks"] if {*row["statuses"].values()} <= {"pass", "skip"}]
    text = markdown.render_clusters(document)
    assert well
    assert f"{len(well)} checks passed or did not apply on every evaluated cluster." in text
    matrix = text.partition("## Checks by cluster")[2]
    assert re.search(rf"^\| {differing()} [a-z-]+ \| us, ap \|  \|  \| eu \|  \|$", matrix, re.MULTILINE)
    assert f"{well[0]['id']} {well[0]['slug']}" not in matrix


def test_a_cluster_that_does_not_answer_makes_no_table_of_checks() -> None:
    silent = samples.healthy().as_dict()
    for item in silent["checks"]:
        item["status"] = "error"
    silent["summary"] |= {"verdict": "incomplete", "evaluated": 0}
    document = Combined([judged("eu", samples.healthy()), Judged("us", Exit.INCOMPLETE, silent)]).as_dict()
    assert "Checks by cluster" not in markdown.render_clusters(document)
    assert "Checks by cluster" not in html.render_clusters(document)


def test_hostile_names_and_texts_are_text_in_every_format(tmp_path: Path) -> None:
    hostile = judged(samples.HOSTILE, samples.hostile(), uid="a")
    combined = Combined([hostile, Judged(f"b{samples.HOSTILE}", Exit.INVALID_INPUT, problems=(PROBLEM,))])
    document = combined.as_dict(tmp_path)

    assert faults(document) == []
    page = html.render_clusters(document)
    assert "<script" not in page
    assert "<img" not in page
    for text in (
        page,
        markdown.render_clusters(document),
        console.render_clusters(document, {}),
        junit.render_clusters(combined.judged),
    ):
        assert "\x1b" not in text
        assert "\x00" not in text
    assert "<script>" not in re.sub(r"`[^`]*`", "", markdown.render_clusters(document))
    path = tmp_path / "all.xml"
    path.write_text(junit.render_clusters(combined.judged), "utf-8")
    assert JUnitXml.fromfile(str(path)).tests == len((hostile.document or {})["checks"]) + 1


def test_junit_holds_the_suites_of_every_cluster_under_its_name(tmp_path: Path) -> None:
    combined = crowd()
    (tmp_path / "all.xml").write_text(junit.render_clusters(combined.judged), "utf-8")
    found = JUnitXml.fromfile(str(tmp_path / "all.xml"))

    planned = {item.name: len(item.document["checks"]) if item.document else 1 for item in combined.judged}
    counted = dict.fromkeys(planned, 0)
    for suite in found:
        counted[suite.name.split(".")[1]] += sum(1 for _ in suite)
    assert counted == planned
    failed = sum(item.document["summary"]["fail"] for item in combined.judged if item.document)
    errors = sum(item.document["summary"]["error"] for item in combined.judged if item.document) + 1
    assert (found.tests, found.failures, found.errors) == (sum(planned.values()), failed, errors)
    (gone,) = [case for suite in found if suite.name == "kfv.gone" for case in suite]
    assert gone.result[0].message == str(PROBLEM)


def test_a_report_that_cannot_be_written_is_told_and_changes_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    combined = files.write_clusters(Combined([judged("eu", samples.healthy())]), tmp_path / "file" / "reports")
    assert combined.files == {}
    assert combined.unwritten
    assert combined.exit_code is Exit.REPORT_NOT_WRITTEN


@pytest.mark.parametrize("rollout", ["changed", "unchanged", "failed", "not begun"])
def test_a_roll_out_before_is_beside_the_verdict_everywhere(rollout: str) -> None:
    document = Combined([replace(judged("eu", samples.healthy()), rollout=rollout)]).as_dict()

    assert faults(document) == []
    for text in (
        console.render_clusters(document, {}),
        markdown.render_clusters(document, ""),
        html.render_clusters(document, ""),
    ):
        assert f"roll-out {rollout}; v" in text
