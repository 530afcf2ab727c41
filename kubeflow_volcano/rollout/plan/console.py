"""The plan in one screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.text import counted, few, table

_MARKS = {"pass": "✓", "warn": "!", "fail": "✗"}
_MOST_DETAILS = 5
_LONGEST_LINE = 240
"""A list of images may not fill the screen; the files have all of it."""


def render(document: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """One line per component and finding, details of warnings and failures; everything else is in the files."""
    asked = document["resources"]
    head = (
        f"Kubeflow {document['release']} on Kubernetes {document['kubernetes']}: "
        f"{counted(document['objects'], 'object')}, {counted(len(document['steps']), 'component')}, "
        f"{counted(len(document['waves']), 'wave')}, {counted(document['images']['count'], 'image')}"
    )
    sums = (
        f"requests {asked['cpu']:.1f} CPUs, {asked['memory_gb']:.1f} GB of memory, "
        f"{asked['storage_gb']:.1f} GB of storage"
    )
    digits = max((len(str(item["objects"])) for item in document["steps"]), default=0)
    rows = [
        (str(item["step"]), item["component"], item["version"], _aligned(item["objects"], digits))
        for item in document["steps"]
    ]
    lines = [head, sums, "", *(f"  {line}" for line in table(rows, right={0})), ""]
    closed = [f"queue {item['queue']}: {queue_words(item)}" for item in document["queues"] if item["state"] != "open"]
    if preset := document["gang"]["volcano_preset"]:
        closed.append(f"Volcano's scheduler is configured for {preset}")
    closed += [f"left to others: component {name}, which must be there" for name in document["existing"]]
    closed += [f"left to others: {item['object']} {', '.join(item['paths'])}" for item in document["ceded"]]
    if validation := document["validation"]:
        closed.append(validation_words(validation))
    lines += [*map(_line, closed), ""] if closed else []
    for item in document["findings"]:
        lines.append(_line(f"{_MARKS[item['verdict']]} {item['title']}: {item['found']}"))
        if item["verdict"] != "pass":
            lines += [_line(f"    {text}") for text in few(item["details"], _MOST_DETAILS, "\n").splitlines()]
            lines.append(f"    Do: {item['todo']}")
    if note := document["hosts"]["note"]:
        lines += ["", note]
    return "\n".join([*lines, "", *(f"plan  {path}" for path in files.values())])


def _aligned(number: int, digits: int) -> str:
    """Count of objects, whose number ends in the same column on every line."""
    return " " * (digits - len(str(number))) + counted(number, "object")


def queue_words(queue: Mapping[str, Any]) -> str:
    """What a roll-out does with one of the plan's queues, for a person."""
    if queue["state"] == "closed":
        return "closed: takes no new jobs; jobs in it stay"
    if queue["state"] == "absent":
        return (
            f"absent: closed, and deleted once it has no job, for which a run waits {queue['drain_seconds']} s; "
            "refused if no roll-out created it"
        )
    return "open"


def validation_words(validation: Mapping[str, Any]) -> str:
    """The validation on a schedule, for a person."""
    how = "with" if validation["probes"] else "without"
    return (
        f"validates itself at {validation['schedule']} {how} probes: {counted(len(validation['objects']), 'object')} "
        f"more, image {validation['image']}"
    )


def _line(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"
