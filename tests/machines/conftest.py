"""One machine for all tests of this folder, which take minutes: `make test-machines` asks for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from tests.machines.machine import Machine
from tests.places import ROOT

PROJECT = (
    *("ansible.cfg", "ansible_collections", "examples", "galaxy.yml", "gang_demo", "inventory", "kubeflow_volcano"),
    *("meta", "playbooks", "plugins", "roles", "validators"),
)
PREPARE = """
set -e
mkdir -p /share && mount -o ro /dev/vdb /share
mount_over() { mkdir -p "$2" "/over/$1/upper" "/over/$1/work"
  mount -t overlay -o "lowerdir=/share/$1,upperdir=/over/$1/upper,workdir=/over/$1/work" "$1" "$2"; }
mount_over project /work/project
mount_over python "%(python)s"
mkdir -p /root/.cache/kubeflow-volcano
mount_over tools /root/.cache/kubeflow-volcano/tools
modprobe -a br_netfilter overlay veth bridge
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them unless they were asked for."""
    if not os.environ.get("KFV_TEST_MACHINES"):
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason="`make test-machines` runs these"))


def share(home: Path) -> Path:
    """The project with its virtual environment, this Python, and the built tools of the default generation."""
    tree = home / "share"
    tools = ensure_tools(load_generation("1.30"))
    for source in tools.homes.values():
        copy(source, tree / "tools" / source.name)
    copy(Path(sys.base_prefix), tree / "python")
    copy(ROOT / ".venv", tree / "project/.venv")
    for name in PROJECT:
        copy(ROOT / name, tree / "project" / name)
    return tree


def copy(source: Path, target: Path) -> None:
    """Copy by links where the disk allows it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True, timeout=600)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A running machine with the project at /work/project; nothing is left of it."""
    home = tmp_path_factory.mktemp("machine")
    made = Machine(home / "it", share(home))
    try:
        made.make()
        shutil.rmtree(home / "share")
        made.start()
        made.run(PREPARE % {"python": sys.base_prefix})
        yield made
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)
