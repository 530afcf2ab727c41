"""Writing reports so that an old one is never half overwritten, and the newest is always at the same place."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from kubeflow_volcano.problems import Problem
from validators.report import markdown
from validators.report.document import Report
from validators.report.safe import LONGEST_EVIDENCE, text

__all__ = ["write"]


def write(report: Report, directory: Path) -> None:
    """Write JSON, Markdown and evidence; sets `report.files`, or `report.unwritten` when that is not possible."""
    document = report.as_dict()
    texts = {
        "json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        "md": markdown.render(document),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, content in report.evidence.items():
            (directory / path).parent.mkdir(exist_ok=True)
            _replace(directory / path, text(content, LONGEST_EVIDENCE))
        for name in (report.stem, f"{report.prefix}latest"):
            for kind, content in texts.items():
                _replace(directory / f"{name}.{kind}", content)
    except OSError as error:
        report.unwritten = Problem(
            f"the report cannot be written to {directory}: {error}.",
            "a directory with room that may be written.",
            "free some room or name another directory with --report-dir, and run again.",
        )
        return
    report.files = {kind: str(directory / f"{report.prefix}latest.{kind}") for kind in texts}


def _replace(path: Path, content: str) -> None:
    """Put a whole file in place of `path`, or leave that as it is."""
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
