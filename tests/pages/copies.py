"""Blocks of code of translated pages, which are copies of the English ones (`make generate`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.pages.blocks import TRANSLATIONS
from tests.places import ROOT

_BLOCK = re.compile(r"(?ms)(?:^ *<!-- [^\n]+ -->\n)?^( *)```[^\n]*\n(?:.*?\n)??\1```$")


def translated_pages() -> Iterator[tuple[Path, str]]:
    """Every translated page, and its text with the blocks of the English page as it is now."""
    for page, english in TRANSLATIONS.items():
        text = (ROOT / page).read_text("utf-8")
        yield ROOT / page, with_blocks(text, (ROOT / english).read_text("utf-8"))


def with_blocks(text: str, english: str) -> str:
    """A page with the blocks of another, each with the comment above it.

    Where one of the two has more blocks, the text stays: which of them are the same is for people to say.
    """
    blocks = [found[0] for found in _BLOCK.finditer(english)]
    if len(blocks) != len(_BLOCK.findall(text)):
        return text
    left = iter(blocks)
    return _BLOCK.sub(lambda _: next(left), text)
