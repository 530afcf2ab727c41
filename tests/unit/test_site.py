"""The site: what is laid out for it, and what the pages in another language are copies of."""

from __future__ import annotations

import posixpath
from pathlib import Path

import pytest

from tests.pages import site
from tests.pages.blocks import PAGES, TRANSLATIONS
from tests.pages.copies import with_blocks
from tests.pages.links import anchors, headings, links, prose
from tests.places import ROOT

STAGED = dict(site.staged())
TRANSLATED = [str(english.with_suffix(".zh.md")) for english in TRANSLATIONS.values()]


def test_every_page_is_there_and_a_translation_stands_beside_its_english_page() -> None:
    assert {str(page) for page in PAGES if page not in TRANSLATIONS} <= STAGED.keys()
    assert {*TRANSLATED} <= STAGED.keys()
    assert [name for name in STAGED if "zh-CN" in name] == []


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_translated_heading_has_the_anchor_of_the_english_one(name: str) -> None:
    english = (ROOT / name.replace(".zh.md", ".md")).read_text("utf-8")
    named = [heading.rpartition(" { #")[2].removesuffix(" }") for heading in headings(prose(STAGED[name]))]
    assert named == [*anchors(prose(english))]


@pytest.mark.parametrize("name", TRANSLATED)
def test_links_of_a_translation_lead_from_its_place_on_the_site(name: str) -> None:
    targets = [link.partition("#") for link in links(prose(STAGED[name]))]
    paths = [posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path, _, _ in targets if path]
    assert paths
    assert [path for path in paths if path not in STAGED and not (ROOT / path).is_file()] == []


def test_the_navigation_has_every_page_of_the_index() -> None:
    found = [
        page for entry in site.navigation() if isinstance(entry, dict) for pages in entry.values() for page in pages
    ]
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - {str(site.INDEX)} <= {*found}
    assert [page for page in found if page.endswith(".md") and not Path(ROOT, page).exists()] == []


def test_blocks_are_those_of_the_english_page() -> None:
    english = "# A\n\n<!-- not run: why -->\n```sh\nnew\n```\n\n1. a\n\n   ```yaml\n   b: 1\n   ```\n"
    page = "# 甲\n\n```\n```\n\n1. 乙\n\n   ```yaml\n   b: 0\n   ```\n"
    assert with_blocks(page, english) == english.replace("# A", "# 甲").replace("1. a", "1. 乙")
    assert with_blocks(page, english + "```sh\none more\n```\n") == page
