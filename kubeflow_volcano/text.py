"""Plain text for people: counts, short lists, tables."""

from __future__ import annotations

import difflib
import io
import re
import sys
from collections.abc import Collection, Iterable, Sequence

# Beside the controls of terminals (C0 without tab and newline, C1): separators of lines, directions, no characters.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 image`, `2 images`; `plural` is for irregular nouns."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def plurals(word: str) -> tuple[str, ...]:
    """What the plural of a word may be, by the rules of English: `jobs`, `queueses`, `policies`."""
    return f"{word}s", f"{word}es", f"{word.removesuffix('y')}ies"


def table_cell(text: str) -> str:
    """Text on one line, escaped for a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def most_similar(word: str, known: Iterable[str], least: float = 0.6) -> str:
    """The known word that is probably meant; empty if no word is similar.

    Args:
        word: the word that was written.
        known: the words that exist.
        least: how much of both words is the same in the same order, from 0 (nothing) to 1 (all).
    """
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=least)), "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question ` Did you mean <most similar known word>?`; empty if no word is similar."""
    match = most_similar(word, known)
    return f" Did you mean {match}?" if match else ""


def few(items: Sequence[str], most: int = 5, separator: str = ", ", noun: str = "") -> str:
    """The first `most` items and how many more there are: `a, b and 3 more`, or `a; b; and 3 more pods`."""
    rest = len(items) - most
    if rest <= 0:
        return separator.join(items)
    before = " " if separator == ", " else separator
    what = f" {noun}{'' if rest == 1 else 's'}" if noun else ""
    return f"{separator.join(items[:most])}{before}and {rest} more{what}"


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """One line per row. Columns are as wide as their widest cell, two spaces apart; lines have no trailing spaces.

    Args:
        rows: cells, the same number in each row; the first row may be a header.
        right: indexes of right-aligned columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def visible(text: str) -> str:
    """The text with Python's escapes for control characters: what others wrote must not steer a terminal.

    Tabs and newlines stay.
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def print_what_the_terminal_can() -> None:
    """From now on a character that the locale of this process does not have is printed as `?`, and is no error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_for_programs() -> None:
    """From now on standard output is UTF-8, as YAML and JSON are, unless a person reads it at a terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
