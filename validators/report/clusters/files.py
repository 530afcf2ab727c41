"""Writing the report on several clusters beside those of each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from validators.report.clusters import html, junit, markdown
from validators.report.clusters.document import PREFIX, Combined
from validators.report.files import manual_from, put

__all__ = ["write"]


def write(combined: Combined, directory: Path) -> Combined:
    """Write JSON, Markdown, HTML and JUnit XML; returns the report with its files, or why there are none."""
    document = combined.as_dict(directory)
    manual = manual_from(directory)
    texts = {
        "json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        "md": markdown.render(document, manual),
        "html": html.render(document, manual),
        "xml": junit.render(combined.judged),
    }
    unwritten = put(texts, directory, (combined.stem, f"{PREFIX}latest"))
    if unwritten:
        return replace(combined, unwritten=unwritten)
    return replace(combined, files={kind: str(directory / f"{PREFIX}latest.{kind}") for kind in texts})
