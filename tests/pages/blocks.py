"""Blocks of code on pages for people, and which of them are run.

Every block names its language: `sh` is commands, `yaml` variables or manifests, and nothing else is looked into. A
comment on the line above a block says what a reader does not need and a test does:

    <!-- not run: why -->          these commands cannot be run on a rehearsal cluster or test hosts
    <!-- exits with 1: why -->     the code of the last command, if it is not 0
    <!-- part of a manifest -->    YAML that is neither variables nor a whole object
    <!-- part of a catalog -->     data of the checkout, likewise
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT

LANGUAGES = ("diff", "sh", "text", "yaml")
PAGES = tuple(
    path.relative_to(ROOT)
    for pattern in ("README*.md", "CONTRIBUTING.md", "docs/**/*.md", "examples/**/*.md", "roles/*/README.md")
    for path in sorted(ROOT.glob(pattern))
)
TRANSLATIONS = {
    Path("README.zh-CN.md"): Path("README.md"),
    **{path.relative_to(ROOT): Path("docs", path.name) for path in sorted((ROOT / "docs" / "zh-CN").glob("*.md"))},
}
"""Pages in other languages, and the English ones whose headings and blocks they have."""
CLUSTER_PAGES = (Path("README.md"), Path("docs/rehearsal.md"), Path("docs/scenarios.md"))
"""Pages that start a rehearsal cluster."""
HOST_PAGES = (
    Path("docs/hosts.md"),
    Path("docs/test-hosts.md"),
    Path("roles/image_mirror_containerd/README.md"),
    Path("roles/preflight/README.md"),
)
"""Pages whose commands are run on test hosts."""
COLLECTION_PAGE = Path("docs/collection.md")
"""The page whose commands are run without a checkout."""

_FENCE = re.compile(r"^( *)```(\S*)$")
_NOTE = re.compile(r"<!-- (.+) -->")
_NOT_RUN = re.compile(r"not run: \S.*")
_EXITS = re.compile(r"exits with (\d+): \S.*")
_HEREDOC = re.compile(r"<<'(\w+)'([^\n]*\n)(.*?)^\1\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between two fences: where the first of them is, and the words of the comment above, if any."""

    page: str
    line: int
    language: str
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether a test of the page runs it."""
        return self.language == "sh" and not _NOT_RUN.fullmatch(self.note)

    @property
    def exit_code(self) -> int:
        """The code that its last command ends with."""
        found = _EXITS.fullmatch(self.note)
        return int(found[1]) if found else 0

    @property
    def is_understood(self) -> bool:
        """Whether the comment above it, if any, is one of those that this module knows."""
        known = {"sh": (_NOT_RUN, _EXITS), "yaml": (re.compile("part of a (?:catalog|chart|manifest)"),)}.get(
            self.language, ()
        )
        return not self.note or any(pattern.fullmatch(self.note) for pattern in known)


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, whose path is relative to the checkout."""
    return list(parse(str(page), (ROOT / page).read_text("utf-8")))


def parse(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page's text.

    Raises:
        ValueError: a block has no end.
    """
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if begin := _FENCE.match(lines[number]):
            end = next((at for at in range(number + 1, len(lines)) if lines[at] == f"{begin[1]}```"), None)
            if end is None:
                raise ValueError(f"{page}:{number + 1}: this block has no end")
            note = _NOTE.fullmatch(lines[number - 1].strip()) if number else None
            code = "".join(f"{line.removeprefix(begin[1])}\n" for line in lines[number + 1 : end])
            yield Block(page, number + 2, begin[2], code, note[1] if note else "")
            number = end
        number += 1


def heredocs(text: str) -> list[str]:
    """What commands write into files or send to a program."""
    return [found[3] for found in _HEREDOC.finditer(text)]


def without_heredocs(text: str) -> str:
    """Commands without what they write or send, each on its line."""
    return _HEREDOC.sub(r"\2", text)


def run_pages() -> list[Path]:
    """Pages with commands that a test runs on a rehearsal cluster; translations have the same."""
    chosen = [page for page in PAGES if page not in {*TRANSLATIONS, *HOST_PAGES, COLLECTION_PAGE}]
    return [page for page in chosen if any(block.runs for block in blocks(page))]
