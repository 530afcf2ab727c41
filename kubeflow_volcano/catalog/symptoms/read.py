"""The one reader of the table of symptoms: which of them a message shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from kubeflow_volcano.catalog.data import HOME, load

_MOST_CHARACTERS = 4000
"""Of a message. Patterns of several words take time by the square of its length; its cause is at one of its ends."""

_COLOURS = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[\d;?]*[a-z]", re.IGNORECASE)
"""What colours a terminal, as it is or as JSON and editors write it."""

PLACES = (
    *("pull", "sandbox", "create", "exit", "event", "condition"),
    *("admission", "scheduler", "sign-in", "ssh", "ansible", "client"),
)
"""Where a message may be seen: what `seen` of a symptom may have. A client is kubectl, kustomize, Helm or kubeadm."""

ANYWHERE = "any"
"""Of a symptom that is a kind of error: what it means in any program, where no other symptom is known."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a message shows. `reason` is a stable CamelCase word; `cause` is a clause, `todo` a sentence.

    What a pattern names in the message (`(?P<name>…)`) fills `{name}` in cause, remedy and commands; `unsaid` has words
    for what it did not find. `commands` only look: those of kubectl from anywhere, others on the node. `answer` is a
    value of Meaning (catalog/images/limits.py), empty where the message says nothing about further requests; `needed`
    is what problems say instead; `releases` are those of Kubeflow that it belongs to, none where it is not theirs;
    `example` is one such message, `source` the program that said it to a test, empty where it is from documents.
    A `general` one yields to all others; a `consequence` only says that something ended or waits, and not why.
    """

    id: str
    reason: str
    seen: tuple[str, ...]
    patterns: tuple[str, ...]
    cause: str
    todo: str
    references: tuple[str, ...]
    example: str
    commands: tuple[str, ...] = ()
    needed: str = ""
    unsaid: Mapping[str, str] = field(default_factory=dict)
    releases: tuple[str, ...] = ()
    answer: str = ""
    source: str = ""
    general: bool = False
    consequence: bool = False

    @property
    def looks(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Commands for a client of the API server, and those for the node."""
        anywhere = tuple(item for item in self.commands if item.startswith("kubectl "))
        return anywhere, tuple(item for item in self.commands if item not in anywhere)

    def commands_at(self, node: str) -> tuple[str, ...]:
        """All commands as they are typed beside the cluster; those for a node only where it has a name."""
        anywhere, there = self.looks
        return (*anywhere, *(f"ssh {node} {shlex.quote(item)}" for item in there if node))

    def of(self, found: re.Match[str]) -> Symptom:
        """The symptom with what the message names in place of placeholders."""
        said = {name: (value or self.unsaid.get(name, "")).strip() for name, value in found.groupdict().items()}
        words = dict(self.unsaid) | said
        if not words:
            return self
        quoted = {name: shlex.quote(value) for name, value in words.items()}
        return replace(
            self,
            cause=self.cause.format(**words),
            todo=self.todo.format(**words),
            commands=tuple(item.format(**quoted) for item in self.commands),
        )


@cache
def symptoms() -> tuple[Symptom, ...]:
    """All of them, in the order in which they are looked for."""
    found = (
        _read(item)
        for path in sorted((HOME / "symptoms").glob("*.yaml"))
        for item in load(f"symptoms/{path.stem}")["symptoms"]
    )
    return tuple(sorted(found, key=lambda item: item.general))


def recognise(message: str, seen: str) -> Symptom | None:
    """The symptom that a message shows, with what the message names in its texts; None for one that is not known.

    Args:
        message: as the program wrote it.
        seen: where it was seen, one of PLACES, or ANYWHERE; a symptom of another place is none.
    """
    return next((item.of(found) for item, found in matches(message, [seen])), None)


def matches(message: str, seen: Collection[str]) -> Iterator[tuple[Symptom, re.Match[str]]]:
    """The symptoms of these places of which a pattern is found in the message, in order, each with what names most."""
    half = _MOST_CHARACTERS // 2
    message = uncoloured(message).replace('\\"', '"')  # as logs quote a message within a field
    text = message if len(message) <= _MOST_CHARACTERS else f"{message[:half]} … {message[-half:]}"
    for item in symptoms():
        if not set(item.seen).isdisjoint(seen):
            found = [hit for pattern in _compiled(item.patterns) if (hit := pattern.search(text))]
            if found:
                yield item, max(found, key=_named)


def uncoloured(text: str) -> str:
    """The text without what colours it on a terminal."""
    return _COLOURS.sub("", text)


def _named(found: re.Match[str]) -> int:
    """How much of the symptom's texts a pattern fills; of two that fill as much, the first counts."""
    return sum(value is not None for value in found.groups())


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in patterns)


def _read(item: dict[str, Any]) -> Symptom:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in item.items()}
    return Symptom(**values)
