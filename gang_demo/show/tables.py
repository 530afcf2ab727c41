"""Outcomes as plain text: the cases of one scenario next to each other, the controls beside the gangs."""

from __future__ import annotations

from collections.abc import Sequence

from gang_demo.model import Outcome

__all__ = ["side_by_side"]

_NARROWEST = 34
_ABREAST = 3


def side_by_side(outcomes: Sequence[Outcome]) -> str:
    """The tables of all cases next to each other, three abreast, without trailing spaces."""
    starts = range(0, len(outcomes), _ABREAST)
    return "\n\n".join(_abreast(outcomes[start : start + _ABREAST]) for start in starts)


def _abreast(outcomes: Sequence[Outcome]) -> str:
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
    cells = [outcome.heads, *outcome.rows] if outcome.heads else []
    widths = [max(len(row[index]) for row in cells) for index in range(len(outcome.heads))]
    rows = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    if outcome.heads and not outcome.rows:
        rows.append("(none)")
    figures = [f"{name}: {value}" for name, value in outcome.figures.items()]
    parts = [rows, list(outcome.lines), figures, [f"{outcome.verdict} ({outcome.seconds:.0f} s)"]]
    body = [line for part in parts if part for line in ("", *part)][1:]
    wide = max(_NARROWEST, len(outcome.title))
    return [outcome.title, "-" * wide, *body]
