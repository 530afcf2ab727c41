"""Reports in Chinese: nothing that has a translation is left in English, and JSON stays as it is."""

from __future__ import annotations

import html as escaping
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from kubeflow_volcano.validators.explain import rendering as explanation
from kubeflow_volcano.validators.language.translation import untranslated
from kubeflow_volcano.validators.report import console, files, html, junit, markdown
from kubeflow_volcano.validators.report.document import Report
from tests.recorded.recording import load
from tests.recorded.verdicts import judged
from tests.samples import reports
from tests.samples.jobs import event, explained, group, tfjob

CHINESE = re.compile("[\u4e00-\u9fff]")
KEPT = {
    *("kubeflow-volcano", "Pod", "PVC", "Volcano", "webhook", "UID", "uid", "Kubernetes", "AI", "StorageClass"),
    *("PodGroup", "JSON", "kfv.io"),
}
"""Words of the field that Chinese readers write in English, too."""


LABELS = ("发现", "要求", "处理", "查看", "变更")
"""Of the parts of a finding on a terminal."""


def recorded() -> Report:
    """A whole report over the recorded facts of a foreign cluster."""
    facts = load("old-and-worn")
    return replace(reports.broken(), facts=facts, results=tuple(judged(facts).values()))


@pytest.fixture(scope="module", params=["recorded", "broken", "healthy", "preflight"])
def report(request: pytest.FixtureRequest) -> Report:
    if request.param == "recorded":
        return recorded()
    found: Report = getattr(reports, request.param)()
    return replace(found, baseline=reports.healthy().as_dict()) if request.param == "broken" else found


def english(text: str) -> bool:
    """Whether no word of it is Chinese, though some words are no names and the catalog has a translation."""
    words = re.findall(r"[A-Za-z][\w.-]*", text)
    return not CHINESE.search(text) and any(word not in KEPT for word in words) and not untranslated(text, "zh")


def test_no_heading_and_no_column_of_a_page_is_english(report: Report) -> None:
    page = html.render(report.as_dict(), report.evidence, language="zh")
    assert '<html lang="zh-CN">' in page
    assert "Noto Sans CJK SC" in page
    parts = re.findall(r"<(?:h1|h2|dt|th scope=\"col\"[^>]*|legend|caption|title)[^>]*>(.*?)</", page, re.DOTALL)
    texts = [escaping.unescape(re.sub(r"<[^>]*>", "", part)).strip() for part in parts]
    observed = {key for item in report.as_dict()["checks"] for key in item["observed"]}
    assert len(texts) > 50
    assert [text for text in texts if english(text) and text not in observed] == []


def test_no_heading_of_markdown_is_english(report: Report) -> None:
    lines = markdown.render(report.as_dict(), language="zh").splitlines()
    heads = [line for line, after in zip(lines, [*lines[1:], ""], strict=True) if after.startswith("| --- ")]
    cells = [cell.strip() for line in heads for cell in line.strip("|").split("|")]
    titles = [line.lstrip("# ") for line in lines if line.startswith("#")]
    assert cells
    assert titles
    assert [text for text in (*cells, *titles) if english(text)] == []


def test_no_claim_is_english_in_any_format(report: Report) -> None:
    document = report.as_dict()
    texts = {
        "console": console.render(document, {}, language="zh"),
        "markdown": markdown.render(document, language="zh"),
        "html": html.render(document, {}, language="zh"),
        "junit": junit.render(document, {}, language="zh"),
    }
    titles = [item["title"] for item in document["checks"]]
    assert [(kind, title) for kind, text in texts.items() for title in titles if english(title) and title in text] == []


def test_labels_of_the_console_are_chinese_and_in_one_column(report: Report) -> None:
    lines = console.render(report.as_dict(), {"html": "reports/latest.html"}, language="zh").splitlines()
    assert lines[-1] == "报告  reports/latest.html"
    parts = [line for line in lines if line.startswith("       ")]
    assert [
        line for line in parts if line[7:13].strip() not in {"发现", "影响", "要求", "处理", "查看", "变更", ""}
    ] == []


def test_a_report_says_the_same_in_both_languages(report: Report) -> None:
    document = report.as_dict()
    pages = [html.render(document, report.evidence, language=language) for language in ("en", "zh")]
    tags = [re.findall(r"<[a-z]+[0-9]?", page) for page in pages]
    assert tags[0] == tags[1]
    tables = [markdown.render(document, language=language).count("|") for language in ("en", "zh")]
    assert tables[0] == tables[1]


def test_names_of_suites_and_types_in_junit_do_not_depend_on_the_language(report: Report) -> None:
    def stable(language: str) -> list[Any]:
        root = ET.fromstring(junit.render(report.as_dict(), {}, language=language))  # noqa: S314  our own
        return [
            (node.tag, {key: value for key, value in node.attrib.items() if key not in {"name", "message"}})
            for node in root.iter()
        ]

    assert stable("en") == stable("zh")


def test_files_of_a_run_are_chinese_but_for_json(report: Report, tmp_path: Path) -> None:
    def written(language: str) -> Mapping[str, str]:
        found = files.write(replace(report, language=language), tmp_path / language)
        return {kind: Path(path).read_text(encoding="utf-8") for kind, path in found.files.items()}

    english_files, chinese = written("en"), written("zh")
    assert english_files["json"] == chinese["json"]
    assert json.loads(chinese["json"]) == report.as_dict()
    assert {kind for kind, text in chinese.items() if len(CHINESE.findall(text)) > 200} == {"md", "html", "xml"}
    assert {kind for kind, text in english_files.items() if CHINESE.search(text)} == set()


def test_why_a_job_does_not_start_is_said_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    job = tfjob(workers=3, cpu="5")
    told = explanation.document(explained(job, group(job, 3), event(job, "FailedCreatePod", "exceeded quota: pods")))
    lines = explanation.render(told, "zh").splitlines()
    assert lines[0] == "TFJob team-a/mnist 无法启动：2 个起因。"
    reasons = {item["reason"] for item in told["findings"]}
    said = [line for line in lines if not any(word in line for word in (*reasons, "exceeded quota"))]
    assert len(said) > 10
    assert [line for line in said if line and not CHINESE.search(line)] == []


def test_names_of_a_cluster_are_shown_as_they_are() -> None:
    document = reports.hostile().as_dict()
    page = html.render(document, {}, language="zh")
    assert "<script>document.title" not in page
    assert "<img src=x" not in page
