"""Pages name what is there, and link to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import folders
from tests.pages.links import anchors, links, prose
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
    text = prose((ROOT / page).read_text("utf-8"))
    paths = {path for path in re.findall(r"`([\w./*-]+)`", text) if path.split("/")[0] in TOPS and "/" in path}
    assert [path for path in sorted(paths) if not _is_there(path)] == []
    targets = set(re.findall(r"`make ([a-z-]+)", text))
    assert targets <= set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))


@pytest.mark.parametrize("page", LINKING, ids=str)
def test_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    text = prose((ROOT / page).read_text("utf-8"))
    assert [link for link in links(text) if not _resolves(page, link)] == []


def test_the_front_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= LONGEST_FRONT_PAGE


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages - {link.partition("#")[0] for link in links(index)} == set()


def test_an_anchor_is_made_of_a_heading_as_on_the_web() -> None:
    assert list(anchors("# A b\n\n## `c-d`: e, f (G)\n\n## A b\n")) == ["a-b", "c-d-e-f-g", "a-b-1"]


def _resolves(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (ROOT / page).parent / name if name else ROOT / page
    if not anchor:
        return target.exists()
    return target.is_file() and anchor in set(anchors(prose(target.read_text("utf-8"))))


def _is_there(path: str) -> bool:
    return any(ROOT.glob(path)) if "*" in path else Path(ROOT, path).exists()
