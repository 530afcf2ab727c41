"""The page of the collection, from an empty directory with two files in it: its archive, and the wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.blocks import COLLECTION_PAGE, blocks
from tests.pages.workplace import Workplace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


@pytest.mark.long
def test_its_commands_install_from_two_files_and_end_as_it_says(kubeconfig: Path, tmp_path: Path) -> None:
    """The files are built from a copy of the checkout, whose inventories name the sources of the cluster."""
    workplace = Workplace(tmp_path, kubeconfig, "none")
    empty = tmp_path / "empty"
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w"]
    archive = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection", "build", "--output-path"]
    for command in (wheel, archive):
        built = [*command, str(empty), str(workplace.checkout)]
        subprocess.run(built, check=True, stdout=subprocess.DEVNULL, cwd=tmp_path)
    assert {file.suffix for file in empty.iterdir()} == {".whl", ".gz"}

    found = [block for block in blocks(COLLECTION_PAGE) if block.runs]
    played = workplace.run(found, empty)

    assert played.code == 0, played.output
    assert str(found[-1]) in played.output
    assert (empty / "reports/latest.html").exists()
