"""The report on several clusters for a pull request or a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validators.report.clusters.console import told, total, where
from validators.report.clusters.differences import WORDS, apart, on
from validators.report.markdown import cell, code, table

__all__ = ["render"]

_MOST_NAMES = 4


def render(document: Mapping[str, Any], manual: str = "") -> str:
    """Markdown of a document of several clusters. Text that came from a cluster is escaped.

    `manual` is the address of the page that describes the checks, seen from where the report lies.
    """
    run = document["run"]
    head = [
        f"# Validation of {total(document)}: {document['summary']['verdict']}",
        f"- {told(document)}",
        f"- run {run['id']} from {run['started']} to {run['ended']}",
        *(f"- one and the same cluster: {', '.join(map(cell, names))}" for names in document["same_cluster"]),
    ]
    rows, rest = apart(document)
    parts = [
        "\n".join(head),
        table("Clusters", _clusters(document)),
        table("Needs attention", _attention(document, manual)),
        table("Checks by cluster", _matrix(rows, manual)),
        f"{rest} checks passed, or do not apply, on every cluster that could be judged." if rest else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _clusters(document: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for item in document["clusters"]:
        name, page = cell(item["name"]), item["files"].get("md")
        summary = item["summary"] or dict.fromkeys(WORDS, "")
        problems = "".join(f"<br>{cell(text)}" for text in item["problems"])
        left = f"<br>**{item['left_behind']} probe objects left behind**" if item["left_behind"] else ""
        rows.append(
            [
                f"[{name}](<{page}>)" if page else name,
                item["verdict"],
                f"{cell(where(item))}{problems}{left}",
                *(str(summary[key]) for key in WORDS),
            ]
        )
    return [["cluster", "verdict", "what it is", *WORDS.values()], *rows]


def _attention(document: Mapping[str, Any], manual: str) -> list[list[str]]:
    rows = [
        [
            _checks(row["checks"], manual),
            row["status"],
            ", ".join(map(cell, row["clusters"])),
            cell(row["message"]),
            cell(row["remediation"]["text"])
            + "".join(f"<br>`{code(text)}`" for text in row["remediation"]["commands"][:3]),
        ]
        for row in document["attention"]
    ]
    return [["check", "status", "on", "found", "do"], *rows] if rows else []


def _checks(checks: list[Mapping[str, Any]], manual: str) -> str:
    if len(checks) > _MOST_NAMES:
        return f"{len(checks)} checks: {', '.join(_linked(check, check['id'], manual) for check in checks)}"
    return "<br>".join(_linked(check, f"{check['id']} {check['slug']}", manual) for check in checks)


def _matrix(rows: list[Mapping[str, Any]], manual: str) -> list[list[str]]:
    body = [
        [_linked(row, f"{row['id']} {row['slug']}", manual), *(", ".join(map(cell, on(row, key))) for key in WORDS)]
        for row in rows
    ]
    return [["check", *WORDS.values()], *body] if body else []


def _linked(check: Mapping[str, Any], words: str, manual: str) -> str:
    return f"[{words}]({manual}#{check['id'].lower()}-{check['slug']})" if manual else words
