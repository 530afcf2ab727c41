"""The first command on a machine: what `make help` lists, and what a person is told where Python is not enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.programs

SYSTEM = ("bash", "cat", "cut", "dirname", "env", "flock", "printf", "rm", "sha256sum", "touch")
VERSION_CHECK_ONLY = '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; *) exit 0 ;; esac\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a fresh clone as the set-up reads."""
    place = tmp_path / "clone"
    shutil.copytree(ROOT / "requirements", place / "requirements")
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with the system's tools and without any Python."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in SYSTEM:
        found = shutil.which(name)
        assert found is not None
        (place / name).symlink_to(found)
    return place


def set_up(checkout: Path, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "requirements" / "setup.sh", "run"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": str(path)},
    )


def test_help_lists_every_verb_with_what_it_does() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)

    done = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True)

    shown = re.findall(r"^  make ([a-z-]+) +\S", done.stdout, re.MULTILINE)
    assert shown == phony.split()


def test_without_a_python_it_says_which_one_is_needed(checkout: Path, path: Path) -> None:
    done = set_up(checkout, path)

    assert done.returncode == 2
    assert "Found: no Python 3.11 or newer on PATH (python3 is: absent)." in done.stderr
    assert "Do: install one" in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_python_without_venv_is_told_with_the_package_to_install(checkout: Path, path: Path) -> None:
    (path / "python3.12").write_text(VERSION_CHECK_ONLY, "utf-8")
    (path / "python3.12").chmod(0o755)

    done = set_up(checkout, path)

    assert done.returncode == 2
    assert "apt-get install python3.12-venv" in done.stderr
    assert not (checkout / ".venv").exists()
