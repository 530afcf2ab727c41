"""The one reader of the table of symptoms: which of them a message shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubeflow_volcano.catalog.data import HOME, load

__all__ = ["Symptom", "recognise", "symptoms"]

_MOST_CHARACTERS = 4000
"""Of a message. Patterns of several words take time by the square of its length; its cause is at one of its ends."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a message shows. `reason` is a stable CamelCase word; `cause` is a clause, `todo` a sentence.

    `commands` only look, and are for the node; `answer` is a value of Meaning (catalog/images/limits.py), empty where
    the message says nothing about further requests; `example` is one such message, `source` the program that said it
    to a test, empty where it is from documents.
    """

    id: str
    reason: str
    seen: frozenset[str]
    pattern: re.Pattern[str]
    cause: str
    todo: str
    commands: tuple[str, ...]
    references: tuple[str, ...]
    example: str
    answer: str = ""
    source: str = ""


@cache
def symptoms() -> tuple[Symptom, ...]:
    """All of them, in the order in which they are looked for."""
    return tuple(
        _read(item)
        for path in sorted((HOME / "symptoms").glob("*.yaml"))
        for item in load(f"symptoms/{path.stem}")["symptoms"]
    )


def recognise(message: str, seen: str) -> Symptom | None:
    """The symptom that a message shows, None for one that is not known.

    Args:
        message: as the program wrote it.
        seen: where it was seen; a symptom of another place is none.
    """
    half = _MOST_CHARACTERS // 2
    text = message if len(message) <= _MOST_CHARACTERS else f"{message[:half]} … {message[-half:]}"
    return next((item for item in symptoms() if seen in item.seen and item.pattern.search(text)), None)


def _read(item: dict[str, Any]) -> Symptom:
    return Symptom(
        id=item["id"],
        reason=item["reason"],
        seen=frozenset(item["seen"]),
        pattern=re.compile("|".join(item["patterns"]), re.IGNORECASE | re.DOTALL),
        cause=item["cause"],
        todo=item["todo"],
        commands=tuple(item["commands"]),
        references=tuple(item["references"]),
        example=item["example"],
        answer=item.get("answer", ""),
        source=item.get("source", ""),
    )
