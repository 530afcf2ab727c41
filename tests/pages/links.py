"""Links and headings of a page, as a forge renders them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
_CODE = re.compile(r"(?ms)(^ *```.*?^ *```$)")


def prose(text: str) -> str:
    """The page without its blocks of code, whose # and brackets mean something else."""
    return _CODE.sub("", text)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The page with everything but its blocks of code changed."""
    return "".join(part if _CODE.fullmatch(part) else change(part) for part in _CODE.split(text))


def links(text: str) -> Iterator[str]:
    """Where the links and pictures of a page lead in the checkout."""
    for _, target in LINK.findall(text):
        if "://" not in target:
            yield target


def headings(text: str) -> list[str]:
    """The headings of a page without blocks of code, each without its level."""
    return re.findall(r"(?m)^#+ (.+)$", text)


def anchors(text: str) -> Iterator[str]:
    """What a heading is linked to by: its words in lower case, the second of a name with a number."""
    seen: dict[str, int] = {}
    for heading in headings(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        number = seen.get(name, 0)
        seen[name] = number + 1
        yield f"{name}-{number}" if number else name
    yield from re.findall(r'<a (?:id|name)="([^"]+)"', text)
