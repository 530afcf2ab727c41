"""The report for a browser: one file that needs no network and no script, made of the document alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import jinja2

from kubeflow_volcano.experiment.timeline import WIDTH, pictures
from validators.core.outcome import Status
from validators.report.console import attention, simulated
from validators.report.pages import MARKS, environment, hashed, source

__all__ = ["render"]

_WORDS = {"fail": "failed", "error": "not evaluated", "warn": "warnings", "pass": "passed", "skip": "skipped"}
_ORDER = tuple(_WORDS)
_CLUSTER = "(cluster-wide)"  # no namespace may be called that
_MOST_EVIDENCE = 8_000
_MOST_SQUARES = 40
_MOST_NAMESPACES = 100


def render(document: Mapping[str, Any], evidence: Mapping[str, str], manual: str = "") -> str:
    """HTML of a report document. `evidence` are the texts kept beside it, by path.

    `manual` is the address of the page that describes the checks, seen from where the report lies; empty where there is
    none.
    """
    namespaces = _namespaces(document["checks"])
    families = list(dict.fromkeys(item["category"] for item in document["checks"]))
    style = source("report.css") + _filters(families, namespaces)
    script = source("report.js")
    return _template().render(
        document=document,
        style=style,
        script=script,
        style_hash=hashed(style),
        script_hash=hashed(script),
        kind="Preflight" if "hosts" in document else "Validation",
        checks=sorted(document["checks"], key=lambda item: _ORDER.index(item["status"])),
        attention=attention(document),
        alone={items[0]["id"] for items in attention(document) if len(items) == 1},
        simulated=simulated(document),
        share=_share(document["summary"]),
        statuses=_ORDER,
        families=families,
        namespaces=namespaces,
        classes={name: f"n{number}" for number, name in enumerate(namespaces)},
        hosts=_hosts(document),
        pictures=pictures(document),
        width=WIDTH,
        evidence={path: text[-_MOST_EVIDENCE:] for path, text in evidence.items()},
        most_evidence=_MOST_EVIDENCE,
        manual=manual,
        marks=MARKS,
        words=_WORDS,
        most_squares=_MOST_SQUARES,
    )


@cache
def _template() -> jinja2.Template:
    own = environment()
    own.filters["shown"] = _shown
    own.filters["where"] = _where
    return own.get_template("report.html.j2")


def _filters(families: Sequence[str], namespaces: Sequence[str]) -> str:
    """Rules that hide what a person has not chosen. Names of the cluster do not stand in them, only their numbers.

    They reach no further than the form's siblings: a browser that had to look at the whole page of a large cluster for
    each rule would take a minute to turn it.
    """
    rules = [
        *(f".filters:has(#s-{name}:not(:checked)) ~ .check.{name}" for name in Status),
        *(f".filters:has(#f-{name}:not(:checked)) ~ .check.f-{name}" for name in families),
        *(f'.filters:has([value="n{number}"]:checked) ~ .check:not(.n{number})' for number in range(len(namespaces))),
    ]
    return ",\n".join(rules) + "{display:none}\n"


def _where(item: Mapping[str, Any]) -> list[str]:
    """Namespaces of the objects of a check."""
    return list(dict.fromkeys(ref["namespace"] or _CLUSTER for ref in item["objects"])) or [_CLUSTER]


def _namespaces(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    found = {name for item in checks for name in _where(item)}
    return sorted(found, key=lambda name: (name == _CLUSTER, name))[:_MOST_NAMESPACES]


def _share(summary: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Status, start and width of each part of the bar, of 100."""
    parts, start = [], 0.0
    for status in _ORDER:
        width = 100 * summary[status] / summary["planned"]
        parts.append((status, round(start, 2), round(width, 2)))
        start += width
    return [part for part in parts if part[2]]


def _hosts(document: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Of a preflight: what stands against each host that was asked, by its name."""
    found: dict[str, list[dict[str, str]]] = {name: [] for name in document.get("hosts", {}).get("asked", ())}
    for item in document["checks"]:
        for row in item["observed"].get("findings", ()) if found else ():
            status = row.get("status", item["status"])
            for name in row["hosts"] if status != Status.PASS else ():
                found.setdefault(name, []).append({"id": item["id"], "status": status, "found": row["found"]})
    return found


def _shown(value: Any) -> str:
    """What was observed under one key, for reading."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
