"""What a change costs: additions of CONTRIBUTING are applied literally, and nothing else has to follow by hand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = [pytest.mark.programs, pytest.mark.long]

VERDICTS = "tests/recorded/clusters/"
VARIABLES = {
    "inventory/sample/group_vars/all.yml",
    "kubeflow_volcano/rollout/settings/settings.schema.json",
    *(f"roles/volcano/{name}" for name in ("README.md", "defaults/main.yml", "meta/argument_specs.yml")),
}
"""What follows from an additional variable of the role volcano."""


class Copy:
    """A checkout of its own, with the files of this one as they are now."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in said("git", "ls-files", "--cached", "--others", "--exclude-standard", place=ROOT).splitlines():
            if (ROOT / name).exists():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
        (place / ".venv").symlink_to(ROOT / ".venv")
        self.git("init", "--quiet")
        self.keep()

    def git(self, *arguments: str) -> str:
        """What git says."""
        return said("git", "-c", "user.name=x", "-c", "user.email=x@example.com", *arguments, place=self.place)

    def keep(self) -> None:
        """Commit everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "kept")

    def apply(self, heading: str) -> None:
        """The diff under a heading of CONTRIBUTING.md."""
        section = (self.place / "CONTRIBUTING.md").read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
        (self.place / "x.diff").write_text(section.partition("```diff\n")[2].partition("```")[0], encoding="utf-8")
        self.git("apply", "x.diff")
        (self.place / "x.diff").unlink()

    def edit(self, path: str, old: str, new: str) -> None:
        """One place of one file."""
        text = (self.place / path).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (self.place / path).write_text(text.replace(old, new), encoding="utf-8")

    def generated(self) -> set[str]:
        """What `make generate` changes now; folders of recorded clusters as one."""
        self.python("-m", "tests.generate", "--check", expected=1)
        self.git("add", "--all")
        self.python("-m", "tests.generate")
        return {re.sub(rf"^({VERDICTS}).*", r"\1", name) for name in self.git("diff", "--name-only").splitlines()}

    def python(self, *arguments: str, expected: int = 0) -> str:
        """What a program of this checkout prints."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command,
            cwd=self.place,
            env=os.environ | {"PYTHONPATH": str(self.place)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout


def said(*command: str, place: Path) -> str:
    return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout


def test_what_changes_cost(tmp_path: Path) -> None:
    copy = Copy(tmp_path)

    copy.apply("A check")
    assert copy.generated() == {"docs/checks.md", VERDICTS}
    copy.keep()

    copy.apply("A variable")
    assert copy.generated() == VARIABLES
    copy.keep()

    copy.edit("validators/checks/storage/classes.py", "volumes of class {name} keep", "volumes of {name} keep")
    copy.edit("kubeflow_volcano/catalog/images/gone.yaml", "docker.io/istio/pilot:1.14.1", "quay.io/istio/pilot:1.14.1")
    copy.python("-m", "tests.generate", "--check")
    assert len(copy.git("status", "--porcelain").splitlines()) == 2

    copy.python("-m", "pytest", "-q", "-n", "2", "-m", "not long and not programs", "tests/unit", "tests/recorded")
