"""docs/releases.md and the versions in README.md say what the catalog says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.catalog import read
from tests.pages.releases import FRONT_PAGES, render, with_versions
from tests.places import ROOT


def test_the_supported_versions_name_every_release_with_its_default_volcano() -> None:
    front = Path("README.md")
    page = with_versions((ROOT / front).read_text(encoding="utf-8"), FRONT_PAGES[front])
    for version in read.releases():
        assert f"| {version} | " in page
        assert f" | {read.load_release(version).volcano_versions[0]} | " in page


@pytest.mark.parametrize("version", read.releases())
def test_every_release_stands_there_with_all_that_belongs_to_it(version: str) -> None:
    release, text = read.load_release(version), render()
    (row,) = [
        line for line in text.splitlines() if line.startswith(f"| {version} | ") and release.kustomize_version in line
    ]
    assert ", ".join(release.volcano_versions) in row
    for name, part in release.components.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` | ")]
        assert part.version in line
    for defect in release.defects:
        assert any(version in line and f"`{defect.id}`: {defect.title}." in line for line in text.splitlines())


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    for block in render().split("\n\n"):
        widths = {line.replace("\\|", "").count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1, block
