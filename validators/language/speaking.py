"""The language in which a report is being rendered, and its labels in that language."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from unicodedata import east_asian_width

from kubeflow_volcano.text import counted as counted_in_english
from kubeflow_volcano.validators.language.catalog import ENGLISH, LANGUAGES, catalog_of
from kubeflow_volcano.validators.language.translation import translate

__all__ = ["counted", "is_english", "padded", "paragraphs", "say", "speaking", "tag", "translated"]

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
    columns = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    return text + " " * (width - columns)


def is_english() -> bool:
    """Whether nothing has to be translated."""
    return _LANGUAGE.get() == ENGLISH


def tag() -> str:
    """Tag of the language for HTML."""
    return LANGUAGES[_LANGUAGE.get()]
