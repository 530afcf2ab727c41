"""The page that leads to the report of each cluster: one file that needs no network and no script."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from validators.report.clusters.console import told, total, where
from validators.report.clusters.differences import WORDS, apart, on
from validators.report.console import counted
from validators.report.pages import MARKS, environment, hashed, source

__all__ = ["render"]

_WORST_FIRST = ("fail", "incomplete", "warn", "pass")


def render(document: Mapping[str, Any], manual: str = "") -> str:
    """HTML of a document of several clusters.

    `manual` is the address of the page that describes the checks, seen from where the report lies; empty where there is
    none.
    """
    style = source("report.css")
    rows, rest = apart(document)
    return _template().render(
        document=document,
        style=style,
        style_hash=hashed(style),
        total=total(document),
        told=told(document),
        clusters=sorted(document["clusters"], key=lambda item: _WORST_FIRST.index(item["verdict"])),
        pages={item["name"]: item["files"].get("html", "") for item in document["clusters"]},
        rows=rows,
        rest=rest,
        marks=MARKS,
        words=WORDS,
        manual=manual,
    )


@cache
def _template() -> jinja2.Template:
    own = environment()
    own.filters["where"] = where
    own.filters["counted"] = counted
    own.filters["on"] = on
    return own.get_template("clusters.html.j2")
