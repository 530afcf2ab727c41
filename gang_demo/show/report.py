"""How scenarios came out, for others: one JSON document of all outcomes, and one picture of each scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gang_demo.catalogue import CASES
from gang_demo.model import Outcome
from gang_demo.show.picture import draw
from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import NotWritten, Problem

__all__ = ["NAME", "SCHEMA", "document", "read", "write"]

SCHEMA = "kfv.scenarios/v1"
NAME = "gang-demo"
"""What the names of the files begin with."""


def read(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, list[Outcome]]:
    """Outcomes from plain data, by scenario, both in the order in which they are shown."""
    order = [case.name for case in CASES]
    found = sorted((Outcome(**item) for item in outcomes), key=lambda item: order.index(item.case))
    by_scenario: dict[str, list[Outcome]] = {}
    for item in found:
        by_scenario.setdefault(item.scenario, []).append(item)
    return by_scenario


def document(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """All outcomes as plain data, and on what kind of machine they came about; `load` is that of 15 minutes."""
    finished = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    items = [asdict(item) for group in outcomes.values() for item in group]
    machine = {"cpus": os.cpu_count(), "load": round(os.getloadavg()[2], 1)}
    return {"schema": SCHEMA, "finished": finished, "machine": machine, "outcomes": items}


def write(outcomes: Mapping[str, Sequence[Outcome]], directory: Path) -> list[str]:
    """Write gang-demo.json and gang-demo-<scenario>.svg; returns their paths.

    Raises:
        NotWritten: there is no room, or nobody may write there.
    """
    whole = json.dumps(document(outcomes), indent=1, ensure_ascii=False) + "\n"
    pictures = {f"{NAME}-{scenario}.svg": draw(items) for scenario, items in outcomes.items()}
    try:
        for name, text in {f"{NAME}.json": whole, **pictures}.items():
            write_file(directory / name, text)
    except OSError as error:
        raise NotWritten(
            Problem(
                f"the report cannot be written to {directory}: {error}.",
                "a directory with room that may be written.",
                "free some room or name another directory with gang_demo_report_directory, and run again.",
            )
        ) from error
    return [str(directory / name) for name in (f"{NAME}.json", *pictures)]
