"""The page of the collection, from an empty directory with two files in it: its archive, and the wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.pages.blocks import COLLECTION_PAGE, blocks
from tests.pages.workplace import Workplace
from tests.places import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


@pytest.mark.long
@pytest.mark.usefixtures("installed_again")
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
    assert _added_to_an_execution_environment(empty) == _declared()


def _added_to_an_execution_environment(empty: Path) -> dict[str, list[str]]:
    """What ansible-builder adds for the collection of the context that the page has made, as in the image's stages."""
    programs, stage = empty / "kfv/bin", str(empty / "stage")
    # Forced, for the checkout itself may be a collection on the search path.
    install = ["collection", "install", "--force", "-r", "requirements.yml", "--collections-path", stage]
    context = empty / "context/_build"
    subprocess.run([str(programs / "ansible-galaxy"), *install], cwd=context, check=True, stdout=subprocess.DEVNULL)
    introspect = [str(programs / "ansible-builder"), "introspect", stage]
    done = subprocess.run(introspect, check=True, stdout=subprocess.PIPE, text=True)
    found = yaml.safe_load(done.stdout)
    return {entry: [line.partition("  #")[0] for line in lines] for entry, lines in found.items()}


def _declared() -> dict[str, list[str]]:
    """Without what ansible-builder leaves to its own ansible-core."""
    declared = yaml.safe_load((ROOT / "meta/execution-environment.yml").read_text("utf-8"))["dependencies"]
    lines = {entry: (ROOT / file).read_text("utf-8").splitlines() for entry, file in declared.items()}
    return {
        entry: [line for line in found if not line.startswith(("#", "ansible-core", "PyYAML"))]
        for entry, found in lines.items()
    }
