"""The language in which a report is being rendered, and its labels in that language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from shutil import get_terminal_size
from typing import Any
from unicodedata import east_asian_width

from kubeflow_volcano.text import counted as counted_in_english
from kubeflow_volcano.validators.language.catalog import ENGLISH, LANGUAGES, catalog_of
from kubeflow_volcano.validators.language.translation import translate

_WIDTH = 100
_PIECES = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+ ?| ")
"""Words, and Chinese characters, between which a line may end."""
_LANGUAGE: ContextVar[str] = ContextVar("language", default=ENGLISH)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """What is said inside is said in that language."""
    before = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(before)


def say(label: str, **values: Any) -> str:
    """A heading or label in the language of the report, with these values in its braces; English without one."""
    return catalog_of(_LANGUAGE.get()).labels.get(label, label).format(**values)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 image`, `2 images`; the label of other languages is `{number} images`."""
    label = catalog_of(_LANGUAGE.get()).labels.get(f"{{number}} {plural or f'{noun}s'}")
    return label.format(number=number) if label else counted_in_english(number, noun, plural)


def translated(text: str) -> str:
    """A text that a check wrote, in the language of the report, as far as its catalog has it."""
    return translate(text, _LANGUAGE.get())


def paragraphs(text: str) -> str:
    """A text of several lines in the language of the report, paragraph by paragraph; in English as it is wrapped."""
    if is_english():
        return text
    return "\n\n".join(translated(" ".join(part.split())) for part in text.split("\n\n"))


def padded(text: str, width: int) -> str:
    """The text with spaces after it, up to that many columns of a terminal; Chinese characters take two each."""
    return text + " " * (width - _columns(text))


def wrapped(text: str, first: str = "", hang: int = 0) -> str:
    """The text in lines of the terminal's columns (or COLUMNS; 100 where there is neither); longer words stay whole.

    Args:
        text: its white space is that between words.
        first: what the first line begins with.
        hang: with how many spaces the following lines begin.
    """
    lines, width = [first], get_terminal_size((_WIDTH, 0)).columns
    for word in _PIECES.findall(" ".join(text.split())):
        if _columns(lines[-1] + word.rstrip()) > width and lines[-1].strip() and len(lines[-1]) > hang:
            lines.append(" " * hang)
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def is_english() -> bool:
    """Whether nothing has to be translated."""
    return _LANGUAGE.get() == ENGLISH


def tag() -> str:
    """Tag of the language for HTML."""
    return LANGUAGES[_LANGUAGE.get()]
