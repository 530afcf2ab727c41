"""Pages name what is there, and link to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import folders
from tests.places import ROOT

LINKING = [
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "roles/*/README.md", "examples/**/*.md")
    for path in sorted(ROOT.glob(pattern))
]
LONGEST_FRONT_PAGE = 90
TOPS = ("playbooks", "roles", "plugins", "kubeflow_volcano", "validators", "gang_demo", "inventory", "tests", "docs")


def test_the_architecture_lists_every_folder_as_its_package_describes_itself() -> None:
    _, listed, _ = folders.split(folders.PAGE.read_text("utf-8"))
    assert listed == folders.table(), "run python -m tests.folders"


@pytest.mark.parametrize("page", LINKING, ids=str)
def test_paths_and_targets_on_a_page_exist(page: Path) -> None:
    text = _prose((ROOT / page).read_text("utf-8"))
    paths = {path for path in re.findall(r"`([\w./*-]+)`", text) if path.split("/")[0] in TOPS and "/" in path}
    assert [path for path in sorted(paths) if not _is_there(path)] == []
    targets = set(re.findall(r"`make ([a-z-]+)", text))
    assert targets <= set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))


@pytest.mark.parametrize("page", LINKING, ids=str)
def test_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    text = _prose((ROOT / page).read_text("utf-8"))
    assert [link for link in _links(text) if not _resolves(page, link)] == []


def test_the_front_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= LONGEST_FRONT_PAGE


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages - {link.partition("#")[0] for link in _links(index)} == set()


def test_an_anchor_is_made_of_a_heading_as_on_the_web() -> None:
    assert list(_anchors("# A b\n\n## `c-d`: e, f (G)\n\n## A b\n")) == ["a-b", "c-d-e-f-g", "a-b-1"]


def _prose(text: str) -> str:
    """The page without its blocks of code, whose # and brackets mean something else."""
    return re.sub(r"(?ms)^ *```.*?^ *```$", "", text)


def _links(text: str) -> Iterator[str]:
    for target in re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", text):
        if "://" not in target:
            yield target


def _resolves(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (ROOT / page).parent / name if name else ROOT / page
    if not anchor:
        return target.exists()
    return target.is_file() and anchor in set(_anchors(_prose(target.read_text("utf-8"))))


def _anchors(text: str) -> Iterator[str]:
    """What a heading is linked to by: its words in lower case, the second of a name with a number."""
    seen: dict[str, int] = {}
    for heading in re.findall(r"(?m)^#+ (.+)$", text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        number = seen.get(name, 0)
        seen[name] = number + 1
        yield f"{name}-{number}" if number else name
    yield from re.findall(r'<a (?:id|name)="([^"]+)"', text)


def _is_there(path: str) -> bool:
    return any(ROOT.glob(path)) if "*" in path else Path(ROOT, path).exists()
