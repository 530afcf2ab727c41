"""Which checks tell clusters apart, so that a table of many checks on many clusters can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["WORDS", "apart", "on"]

WORDS = {"fail": "failed", "error": "not evaluated", "warn": "warnings", "pass": "passed", "skip": "skipped"}
"""Statuses in the order in which they are shown."""

_WELL = ("pass", "skip")


def apart(document: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int]:
    """Rows of checks that neither passed nor were skipped on some cluster, and how many others there are.

    A cluster on which nothing could be judged, such as one that does not answer, tells no check from another.
    """
    told = {item["name"] for item in document["clusters"] if item["summary"] and item["summary"]["evaluated"]}
    planned = [row for row in document["checks"] if told.intersection(row["statuses"])]
    rows = [row for row in planned if any(row["statuses"].get(name, _WELL[0]) not in _WELL for name in told)]
    return rows, len(planned) - len(rows)


def on(row: Mapping[str, Any], status: str) -> list[str]:
    """Names of the clusters on which the check ended so."""
    return [name for name, found in row["statuses"].items() if found == status]
