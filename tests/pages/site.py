"""python -m tests.pages.site [DIRECTORY]: the pages as a site, English and Chinese (`make docs`).

The pages keep their places below one directory, so that links between them hold. A translation stands beside its
English page, and its headings have the anchors of the English ones: a link to a heading leads to the heading in
either language.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.pages.blocks import PAGES, TRANSLATIONS
from tests.pages.links import LINK, anchors, links, outside_code, prose
from tests.places import ROOT
from tests.release.versions import address

INDEX = Path("docs/README.md")
"""The page whose tables are the navigation."""

_OTHERS = ("CHANGELOG.md", "SECURITY.md")
_ENGLISH = {str(page): str(english) for page, english in TRANSLATIONS.items()}
_HEADING = re.compile(r"(?m)^(#+ .+)$")


def staged() -> Iterator[tuple[str, str]]:
    """Path and text of every page of the site; a translation has `.zh` before the end of the English path."""
    for page in [*map(str, PAGES), *_OTHERS]:
        text = (ROOT / page).read_text("utf-8")
        english = _ENGLISH.get(page)
        lines = [line for line in text.splitlines(keepends=True) if not _leads_to_another_language(page, line)]
        text = outside_code("".join(lines), partial(_with_links, page))
        if english is None:
            yield page, text
        else:
            names = iter([*anchors(prose((ROOT / english).read_text("utf-8")))])
            text = outside_code(text, partial(_HEADING.sub, partial(_named, names)))
            yield str(Path(english).with_suffix(".zh.md")), text


def _leads_to_another_language(page: str, line: str) -> bool:
    """Whether a line is about nothing but other languages; the site has a menu in its place."""
    targets = {_resolved(page, link)[0] for link in links(line)}
    return targets == {_ENGLISH[page]} if page in _ENGLISH else bool(targets) and targets <= _ENGLISH.keys()


def _named(names: Iterator[str], found: re.Match[str]) -> str:
    return f"{found[1]} {{ #{next(names)} }}"


def _with_links(page: str, text: str) -> str:
    return LINK.sub(partial(_link, page), text)


def _link(page: str, found: re.Match[str]) -> str:
    words, target = str(found[1]), str(found[2])
    if "://" in target:
        return f"{words}({target})"
    name, anchor = _resolved(page, target)
    if english := _ENGLISH.get(name):
        anchor = _of_english(name, english, anchor)
        name = english
    if not (ROOT / name).is_file():
        url = address()
        return f"{words}({url}/tree/main/{name})" if url else re.sub(r"^!?\[(.*)\]$", r"\1", words)
    start = posixpath.dirname(_ENGLISH.get(page, page))
    return f"{words}({posixpath.relpath(name, start or '.')}{f'#{anchor}' if anchor else ''})"


def _resolved(page: str, link: str) -> tuple[str, str]:
    """The path in the checkout to which a link of a page leads, and the anchor there."""
    name, _, anchor = link.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), name)) if name else page), anchor


def _of_english(page: str, english: str, anchor: str) -> str:
    """The anchor of the English heading at the place of a translated one."""
    own, others = ([*anchors(prose((ROOT / name).read_text("utf-8")))] for name in (page, english))
    return dict(zip(own, others, strict=False)).get(anchor, anchor)


def navigation() -> list[Any]:
    """The pages that the index lists, below the headings of its tables."""
    found: list[Any] = [{"Home": "README.md"}, str(INDEX)]
    for line in (ROOT / INDEX).read_text("utf-8").splitlines():
        if heading := re.fullmatch(r"\| (to [\w ]+) \| \|", line):
            found.append({heading[1].capitalize(): []})
        elif row := re.match(r"\| \[[^\]]+\]\(([^)#]+)\) \|", line):
            (section,) = found[-1].values()
            section.append(_resolved(str(INDEX), row[1])[0])
    found.append("CHANGELOG.md")
    return found


def write(place: Path) -> None:
    """Write the pages, and the files to which they link."""
    pages = dict(staged())
    for name, text in pages.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        for link in links(prose(text)):
            target, _ = _resolved(name, link)
            if target not in pages and (ROOT / target).is_file():
                (place / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / target, place / target)


def build(output: Path) -> None:
    """Build the site; every link that leads nowhere is an error.

    Raises:
        subprocess.CalledProcessError: mkdocs said why.
    """
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        write(place / "pages")
        more = {
            "INHERIT": str(ROOT / "mkdocs.yml"),
            "docs_dir": str(place / "pages"),
            "site_dir": str(output.resolve()),
            "nav": navigation(),
        }
        url = address()
        configuration = place / "mkdocs.yml"
        configuration.write_text(yaml.safe_dump(more | ({"repo_url": url} if url else {})), "utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(configuration)]
        subprocess.run(command, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})


if __name__ == "__main__":
    build(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "site")
