"""Every supported ansible-core on every Python that it supports: installed once, and kept in the cache by content.

What is locked for every core is in one virtual environment for each Python; a core, which is the same on every Python,
has a directory of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.directories import cache_directory
from tests.locked import install, made, virtual_environment
from tests.places import ROOT

LOCKS = ROOT / "requirements" / "ansible-core"
"""A file for each ansible-core, with what other packages than run.txt has it needs."""

CORES: Mapping[str, Sequence[str]] = {
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13"),
    "2.21": ("3.12", "3.13"),
}
"""Versions of Python by ansible-core; those that it names in its classifiers and this project supports."""

_ANY = ("--ignore-requires-python",)
"""A core is installed by the Python that runs the tests, which may not be one of its own."""


def oldest() -> tuple[str, str]:
    """What protects each change: the core that is least like the checkout's own, on this machine's newest Python."""
    core = next(iter(CORES))
    return core, next((version for version in reversed(CORES[core]) if find_python(version)), CORES[core][-1])


def find_python(version: str) -> Path | None:
    """An interpreter of this machine with that version, such as 3.12; None without one that runs."""
    managed = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python3"))
    places = [sys.executable, shutil.which(f"python{version}") or "", *map(str, managed)]
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for place in filter(None, places):
        # A name that is on PATH may still not run (version managers leave such stand-ins).
        done = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return Path(place)
    return None


@dataclass(frozen=True)
class Core:
    """An ansible-core on a Python."""

    python: Path
    path: tuple[Path, ...]
    """Directories from which it imports, besides its own of what is locked for every core."""

    @classmethod
    def installed(cls, version: str, python: str) -> Core:
        """This one, installed where it is not yet.

        Args:
            version: such as 2.18.
            python: such as 3.12, of which there has to be one on this machine.
        """
        found = find_python(python)
        assert found, f"no Python {python}"
        lock = (LOCKS / f"{version}.txt").read_text("utf-8")
        rest = _without(re.findall(r"(?m)^([\w-]+)==", lock), (ROOT / "requirements/run.txt").read_text("utf-8"))
        common = _made(f"python-{python}", rest, lambda place, file: virtual_environment(found, place, file))
        own = _made(
            f"core-{version}", lock, lambda place, file: install(*_ANY, "--target", str(place), "-r", str(file))
        )
        return cls(common / "bin" / "python", (own,))

    def run(
        self, program: str, *arguments: str | Path, library: Path | None, cwd: Path, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """One of its programs, in a directory whose collections are the only ones, with nothing of the checkout."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "PYTHON"))}
        environment |= {
            "PYTHONPATH": os.pathsep.join(str(place) for place in (library, *self.path) if place),
            "ANSIBLE_COLLECTIONS_PATH": str(cwd / "collections"),
            "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "NO_COLOR": "1",
            **more,
        }
        return subprocess.run(
            [self.python, self.path[0] / "bin" / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=cwd,
            env=environment,
        )


def _without(names: Sequence[str], lock: str) -> str:
    """The lock of all requirements without these packages, which begin a line each."""
    parts = re.split(r"(?m)^(?=[A-Za-z0-9])", lock)
    left = {"ansible-core", *names}
    return "".join(part for part in parts if re.split(r"[=\s]", part, maxsplit=1)[0] not in left)


def _made(name: str, lock: str, make: Callable[[Path, Path], None]) -> Path:
    return made(cache_directory() / "ansible-core", name, lock, make)
