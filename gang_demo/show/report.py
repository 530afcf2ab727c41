"""Outcomes for people and programs: text tables, one JSON document, and one picture of each scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubeflow_volcano.files import write_file
from kubeflow_volcano.gang_demo.catalogue import CASES
from kubeflow_volcano.gang_demo.model import Outcome
from kubeflow_volcano.gang_demo.show.picture import draw
from kubeflow_volcano.problems import NotWritten
from kubeflow_volcano.text import table

SCHEMA = "kfv.scenarios/v1"
NAME = "gang-demo"
"""Prefix of the files' names."""
_NARROWEST = 34
_ABREAST = 3


def read(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, list[Outcome]]:
    """Outcomes from plain data, by scenario, both in the order in which they are shown."""
    order = [case.name for case in CASES]
    ordered = sorted((Outcome(**item) for item in outcomes), key=lambda item: order.index(item.case))
    by_scenario: dict[str, list[Outcome]] = {}
    for item in ordered:
        by_scenario.setdefault(item.scenario, []).append(item)
    return by_scenario


def document(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """All outcomes as plain data, with the machine they were measured on; `load` is the average of 15 minutes."""
    finished = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    items = [asdict(item) for group in outcomes.values() for item in group]
    machine = {"cpus": os.cpu_count(), "load": round(os.getloadavg()[2], 1)}
    return {"schema": SCHEMA, "finished": finished, "machine": machine, "outcomes": items}


def write(outcomes: Mapping[str, Sequence[Outcome]], directory: Path) -> list[str]:
    """Write gang-demo.json and gang-demo-<scenario>.svg; returns their paths.

    Raises:
        NotWritten: the directory has no space, or is not writable.
    """
    whole = json.dumps(document(outcomes), indent=1, ensure_ascii=False) + "\n"
    pictures = {f"{NAME}-{scenario}.svg": draw(items) for scenario, items in outcomes.items()}
    try:
        for name, text in {f"{NAME}.json": whole, **pictures}.items():
            write_file(directory / name, text)
    except OSError as error:
        raise NotWritten.problem(
            f"the report cannot be written to {directory}: {error}.",
            "a writable directory with free space.",
            "free some space, or set gang_demo_report_directory to another directory, and run again.",
        ) from error
    return [str(directory / name) for name in (f"{NAME}.json", *pictures)]


def side_by_side(outcomes: Sequence[Outcome]) -> str:
    """The tables of all cases, three side by side, without trailing spaces."""
    starts = range(0, len(outcomes), _ABREAST)
    return "\n\n".join(_side_by_side(outcomes[start : start + _ABREAST]) for start in starts)


def _side_by_side(outcomes: Sequence[Outcome]) -> str:
    columns = [_table(item) for item in outcomes]
    widths = [max(len(line) for line in column) for column in columns]
    height = max(len(column) for column in columns)
    rows = (
        "   ".join(
            (column[row] if row < len(column) else "").ljust(width)
            for column, width in zip(columns, widths, strict=True)
        )
        for row in range(height)
    )
    return "\n".join(row.rstrip() for row in rows)


def _table(outcome: Outcome) -> list[str]:
    rows = table([outcome.heads, *outcome.rows]) if outcome.heads else []
    if outcome.heads and not outcome.rows:
        rows.append("(none)")
    figures = [f"{name}: {value}" for name, value in outcome.figures.items()]
    parts = [rows, list(outcome.lines), figures, [f"{outcome.verdict} ({outcome.seconds:.0f} s)"]]
    body = [line for part in parts if part for line in ("", *part)][1:]
    wide = max(_NARROWEST, len(outcome.title))
    return [outcome.title, "-" * wide, *body]
