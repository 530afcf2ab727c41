"""The files of a plan, and how they get whole into the place of older ones."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster import holdings
from kubeflow_volcano.problems import Exit, Problem, ProblemsError
from kubeflow_volcano.rollout.plan import markdown
from kubeflow_volcano.rollout.plan.build import Plan

__all__ = ["MARKDOWN", "NotWrittenError", "texts_of", "write"]

MARKDOWN = "plan.md"


class NotWrittenError(ProblemsError):
    """There is no room for the plan, or no right to write it."""

    exit_code = Exit.REPORT_NOT_WRITTEN


def texts_of(found: Plan, document: Mapping[str, Any]) -> dict[str, str]:
    """The plan as JSON and Markdown, its objects, and its images for people, programs, skopeo and crane, by file name.

    `python -m validators --expected objects.json` sees that all of these objects exist.
    """
    images = found.images
    objects = {name: holdings.lasting(part) for name, part in found.desired.parts.items()}
    return {
        "plan.json": _json(document),
        MARKDOWN: markdown.render(document),
        "objects.json": _json(holdings.document(objects, found.settings.release.version)),
        "images.txt": images.text(),
        "images.json": _json(images.as_dict()),
        "images-skopeo.yaml": images.skopeo(),
        "images-crane.txt": images.crane(),
    }


def write(directory: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Write each text to its file name below `directory`; returns where each is.

    Raises:
        NotWrittenError: it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            _replace(directory / name, text)
    except OSError as error:
        raise NotWrittenError(
            Problem(
                f"the plan cannot be written to {directory}: {error.strerror}.",
                "a directory with room that may be written.",
                "free some room, or set plan_directory to another directory.",
            )
        ) from error
    return {name: str(directory / name) for name in texts}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> None:
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
