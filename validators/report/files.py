"""Writes reports: under the name of the run, and as `latest` in place of the previous one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.validators.report import html, junit, markdown
from kubeflow_volcano.validators.report.clusters import PREFIX, Combined
from kubeflow_volcano.validators.report.document import MANUAL, Report


def write(report: Report, directory: Path) -> Report:
    """Write JSON, Markdown, HTML, JUnit XML and evidence; returns the report with its files, or why there are none.

    JSON is for programs, and English in every language.
    """
    document, evidence, manual = report.as_dict(), report.evidence, _manual_from(directory)
    texts = {
        "json": _json(document),
        "md": markdown.render(document, manual, report.language),
        "html": html.render(document, evidence, manual, report.language),
        "xml": junit.render(document, evidence, report.language),
    }
    written, unwritten = _put(texts, directory, report.stem, report.prefix, evidence)
    return replace(report, files=written, unwritten=unwritten)


def write_clusters(combined: Combined, directory: Path) -> Combined:
    """Write JSON, Markdown, HTML and JUnit XML; returns the report with its files, or why there are none."""
    document, manual = combined.as_dict(directory), _manual_from(directory)
    texts = {
        "json": _json(document),
        "md": markdown.render_clusters(document, manual, combined.language),
        "html": html.render_clusters(document, manual, combined.language),
        "xml": junit.render_clusters(combined.judged, combined.language),
    }
    written, unwritten = _put(texts, directory, combined.stem, PREFIX, {})
    return replace(combined, files=written, unwritten=unwritten)


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _put(
    texts: Mapping[str, str], directory: Path, stem: str, prefix: str, evidence: Mapping[str, str]
) -> tuple[Mapping[str, str], Problem | None]:
    """Write the evidence, by path, then every text, by suffix, under the run's stem and as `latest`.

    Returns the paths of the latest files by suffix, or none and why they could not be written.
    """
    latest = {suffix: directory / f"{prefix}latest.{suffix}" for suffix in texts}
    try:
        for path, content in evidence.items():
            write_file(directory / path, content)
        for suffix, content in texts.items():
            write_file(directory / f"{stem}.{suffix}", content)
        for suffix, content in texts.items():
            write_file(latest[suffix], content)
    except OSError as error:
        return {}, Problem(
            f"the report cannot be written to {directory}: {error}.",
            "a writable directory with free space.",
            "free some space or name another directory with --report-dir, and run again.",
        )
    return {suffix: str(path) for suffix, path in latest.items()}, None


def _manual_from(directory: Path) -> str:
    """Relative URL of the manual of checks from the reports; empty without a checkout."""
    page = Path(__file__).resolve().parents[2] / MANUAL
    return quote(os.path.relpath(page, directory)) if page.is_file() else ""
