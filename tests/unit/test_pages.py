"""Pages for those who work on the project name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import folders
from tests.places import ROOT

PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
TOPS = ("playbooks", "roles", "plugins", "kubeflow_volcano", "validators", "gang_demo", "inventory", "tests", "docs")


def test_the_architecture_lists_every_folder_as_its_package_describes_itself() -> None:
    _, listed, _ = folders.split(folders.PAGE.read_text("utf-8"))
    assert listed == folders.table(), "run python -m tests.folders"


@pytest.mark.parametrize("page", PAGES)
def test_paths_on_a_page_exist(page: str) -> None:
    text = re.sub(r"(?ms)^```diff.*?^```$", "", (ROOT / page).read_text("utf-8"))  # an example adds files
    paths = {path for path in re.findall(r"`([\w./*-]+)`", text) if path.split("/")[0] in TOPS and "/" in path}
    assert paths, "paths stand in backticks"
    assert [path for path in sorted(paths) if not _is_there(path)] == []


def _is_there(path: str) -> bool:
    return any(ROOT.glob(path)) if "*" in path else Path(ROOT, path).exists()
