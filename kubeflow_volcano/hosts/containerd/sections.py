"""A TOML text in sections, one for each table header, so that one can be edited and all others stay byte for byte.

tomlkit alone reorders tables of one parent that are not adjacent, as they often are in containerd's configuration.
Within a section there are only keys, which it keeps as they are.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.foreign import read_toml

_HEADER = re.compile(r"^[ \t]*\[[^\n]*\][ \t]*(?:#[^\n]*)?\r?$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """`path` are the names in the header, none above the first header; `header` and `body` are text."""

    path: tuple[str, ...]
    header: str
    body: str

    def __str__(self) -> str:
        return self.header + self.body


def sections(text: str) -> list[Section]:
    """The sections in order; joined they are the text.

    Raises:
        ValueError: it is not TOML.
    """
    read_toml(text)
    parts: list[Section] = []
    path: tuple[str, ...] = ()
    header, start = "", 0
    for match in _HEADER.finditer(text):
        if not _ends_there(text[start : match.start()]):
            continue  # that line is part of a value
        parts.append(Section(path, header, text[start : match.start()]))
        path, header, start = tuple(_names(read_toml(match[0].strip()))), match[0], match.end()
    return [*parts, Section(path, header, text[start:])]


def _ends_there(body: str) -> bool:
    try:
        read_toml(body)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _names(table: dict[str, Any]) -> Iterator[str]:
    for name, inner in table.items():
        yield name
        yield from _names(inner[0] if isinstance(inner, list) else inner)
