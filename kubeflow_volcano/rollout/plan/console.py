"""The plan in one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.text import counted

__all__ = ["queue_words", "render"]

_MARKS = {"pass": "✓", "warn": "!", "fail": "✗"}
_MOST_DETAILS = 5
_LONGEST_LINE = 240
"""So that a list of images does not fill the screen; all of it is in the files."""


def render(document: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """A line per component and per question; details only of what needs attention, the rest is in the files."""
    asked = document["resources"]
    head = (
        f"Kubeflow {document['release']} on Kubernetes {document['kubernetes']}: "
        f"{counted(document['objects'], 'object')}, {counted(len(document['steps']), 'component')}, "
        f"{counted(len(document['waves']), 'wave')}, {counted(document['images']['count'], 'image')}"
    )
    sums = (
        f"asks for {asked['cpu']:.1f} CPUs, {asked['memory_gb']:.1f} GB of memory, "
        f"{asked['storage_gb']:.1f} GB of storage"
    )
    rows = [
        (str(item["step"]), item["component"], item["version"], *counted(item["objects"], "object").split())
        for item in document["steps"]
    ]
    lines = [head, sums, "", *_columns(rows), ""]
    shut = [f"queue {item['queue']}: {queue_words(item)}" for item in document["queues"] if item["state"] != "open"]
    lines += [*map(_line, shut), ""] if shut else []
    for item in document["findings"]:
        lines.append(_line(f"{_MARKS[item['verdict']]} {item['title']}: {item['found']}"))
        if item["verdict"] != "pass":
            lines += [_line(f"    {text}") for text in item["details"][:_MOST_DETAILS]]
            more = len(item["details"]) - _MOST_DETAILS
            lines += [f"    and {more} more"] if more > 0 else []
            lines.append(f"    Do: {item['todo']}")
    if note := document["hosts"]["note"]:
        lines += ["", note]
    return "\n".join([*lines, "", *(f"plan  {path}" for path in files.values())])


def queue_words(queue: Mapping[str, Any]) -> str:
    """What a roll-out will do about one of the plan's queues, for a person."""
    if queue["state"] == "closed":
        return "closed: it takes no new jobs, and those in it stay"
    if queue["state"] == "absent":
        return (
            f"absent: closed, and deleted once it has no job, for which a run waits {queue['drain_seconds']} s; "
            "refused where no roll-out has made it"
        )
    return "open"


def _line(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return [
        f"  {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]:>{widths[3]}} {row[4]}"
        for row in rows
    ]
