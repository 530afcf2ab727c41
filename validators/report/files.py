"""Writing reports so that an old one is never half overwritten, and the newest is always at the same place."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from kubeflow_volcano.problems import Problem
from validators.report import html, junit, markdown
from validators.report.document import MANUAL, Report

__all__ = ["manual_from", "put", "write"]


def write(report: Report, directory: Path) -> Report:
    """Write JSON, Markdown, HTML, JUnit XML and evidence; returns the report with its files, or why there are none."""
    document = report.as_dict()
    evidence = report.evidence
    manual = manual_from(directory)
    texts = {
        "json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        "md": markdown.render(document, manual),
        "html": html.render(document, evidence, manual),
        "xml": junit.render(document, evidence),
    }
    unwritten = put(texts, directory, (report.stem, f"{report.prefix}latest"), evidence)
    if unwritten:
        return replace(report, unwritten=unwritten)
    return replace(report, files={kind: str(directory / f"{report.prefix}latest.{kind}") for kind in texts})


def put(
    texts: Mapping[str, str], directory: Path, stems: Iterable[str], beside: Mapping[str, str] | None = None
) -> Problem | None:
    """Write every text, by its suffix, under each of the stems, and first what lies `beside` them, by its path.

    Returns why that could not be done, or None.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, content in (beside or {}).items():
            (directory / path).parent.mkdir(exist_ok=True)
            _replace(directory / path, content)
        for stem in stems:
            for suffix, content in texts.items():
                _replace(directory / f"{stem}.{suffix}", content)
    except OSError as error:
        return Problem(
            f"the report cannot be written to {directory}: {error}.",
            "a directory with room that may be written.",
            "free some room or name another directory with --report-dir, and run again.",
        )
    return None


def manual_from(directory: Path) -> str:
    """Where the page that describes the checks lies, seen from the reports; empty without a checkout."""
    page = Path(__file__).parents[2] / MANUAL
    return quote(os.path.relpath(page, directory)) if page.is_file() else ""


def _replace(path: Path, content: str) -> None:
    """Put a whole file in place of `path`, or leave that as it is.

    Raises:
        OSError: it could not be written.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
