"""What faults are made of: full disks, programs run to their end, and the oracle of what they said."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kubeflow_volcano.problems import Problem
from tests.places import ROOT


@contextlib.contextmanager
def full_disk(place: Path, size: str = "16k") -> Iterator[Path]:
    """A directory on a filesystem of its own with so much room."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def validators(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m validators` with these arguments, to its end."""
    return said_by([sys.executable, "-m", "validators", *arguments], environment)


def said_by(command: Iterable[str | Path], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A program with more variables, to its end; it may neither hang nor show a traceback."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), **environment},
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def assert_told(problems: Iterable[Problem], *words: str) -> None:
    """Every problem has its three parts, and together they name all of this."""
    text = ""
    for problem in problems:
        assert problem.found
        assert problem.needed
        assert problem.todo
        text += f"{problem}\n"
    for word in words:
        assert word in text, text
