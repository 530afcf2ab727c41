"""Writing the report on several clusters beside those of each."""

from __future__ import annotations

import json
from pathlib import Path

from validators.report.clusters import html, junit, markdown
from validators.report.clusters.document import PREFIX, Combined
from validators.report.files import manual_from, put

__all__ = ["write"]


def write(combined: Combined, directory: Path) -> None:
    """Write JSON, Markdown, HTML and JUnit XML; sets `combined.files`, or `combined.unwritten` if that fails."""
    document = combined.as_dict(directory)
    manual = manual_from(directory)
    texts = {
        "json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        "md": markdown.render(document, manual),
        "html": html.render(document, manual),
        "xml": junit.render(combined.judged),
    }
    combined.unwritten = put(texts, directory, (combined.stem, f"{PREFIX}latest"))
    if combined.unwritten is None:
        combined.files = {kind: str(directory / f"{PREFIX}latest.{kind}") for kind in texts}
