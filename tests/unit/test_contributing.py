"""Adding a thing costs what CONTRIBUTING says: its diff, applied to a copy of the checkout, and `make generate`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = [pytest.mark.long, pytest.mark.programs]

ROLE = Path("roles/volcano")
FOLLOWS = {
    "A variable": {
        Path("inventory/sample/group_vars/all.yml"),
        Path("kubeflow_volcano/rollout/settings/settings.schema.json"),
        *(ROLE / name for name in ("README.md", "defaults/main.yml", "meta/argument_specs.yml")),
    }
}
"""What `make generate` changes after the diff of a section."""
TESTS = {"A variable": ("tests/unit/rollout/settings/test_read.py", "tests/unit/rollout/settings/test_settings.py")}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout as it is, and with a Git of its own."""
    listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in listed:
        place = tmp_path / name
        if name and (ROOT / name).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place, follow_symlinks=False)
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", "--all")
    return tmp_path


@pytest.mark.parametrize("section", FOLLOWS)
def test_the_diff_of_a_section_is_all_that_it_costs(checkout: Path, section: str) -> None:
    diff = _diff(section)
    subprocess.run(["git", "apply", "-"], check=True, cwd=checkout, input=diff, text=True)
    _python(checkout, "tests.generate")
    changed = {Path(name) for name in _git(checkout, "diff", "--name-only").splitlines()}
    by_hand = {Path(name) for name in re.findall(r"(?m)^\+\+\+ b/(\S+)", diff)}
    assert changed - by_hand == FOLLOWS[section]
    _python(checkout, "tests.generate", "--check")
    _python(checkout, "pytest", "-q", "-n", "0", *TESTS[section])


def _diff(section: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (found,) = re.findall(rf"(?ms)^## {section}$.*?^```diff$\n(.*?)^```$", text)
    return str(found)


def _git(directory: Path, *words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, cwd=directory, text=True).stdout


def _python(directory: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", *words], check=True, cwd=directory)
