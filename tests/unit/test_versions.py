"""Versions stand in one place each: what else names them is compared with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import kubeflow_volcano
from tests.cores.environments import CORES, LOCKS
from tests.pages.blocks import PAGES
from tests.places import ROOT
from tests.release import versions

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)\b", "\n".join(PROJECT["classifiers"]))
"""The versions of Python that the project supports."""
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a checkout as names its version."""
    for name in (versions.SOURCE, "galaxy.yml", "pyproject.toml", "plugins/plugin_utils/library.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def test_every_place_has_the_version_of_the_library(checkout: Path) -> None:
    assert versions.version() == kubeflow_volcano.__version__
    assert versions.write(versions.version(), checkout) == [], "run make generate"


@pytest.mark.programs
@pytest.mark.programs
def test_the_program_prints_it() -> None:
    command = [sys.executable, "-c", "from kubeflow_volcano.command.start import main; main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"kubeflow-volcano {kubeflow_volcano.__version__}\n"


def test_a_new_version_is_written_everywhere(checkout: Path) -> None:
    changed = versions.write("12.3.4", checkout)
    assert {versions.SOURCE, "galaxy.yml", "plugins/plugin_utils/library.py", "docs/collection.md"} <= {*changed}
    assert versions.version(checkout) == "12.3.4"
    assert yaml.safe_load((checkout / "galaxy.yml").read_text("utf-8"))["version"] == "12.3.4"
    assert "kubeflow_volcano-platform-12.3.4.tar.gz" in (checkout / "docs/collection.md").read_text("utf-8")
    assert versions.write("12.3.4", checkout) == []


def test_a_place_without_a_version_is_an_error(checkout: Path) -> None:
    (checkout / "galaxy.yml").write_text("name: platform\n", "utf-8")
    with pytest.raises(ValueError, match=r"galaxy\.yml .*0 versions"):
        versions.write("1.0.0", checkout)


def test_an_address_is_the_repository_of_the_wheel_and_of_the_collection(checkout: Path) -> None:
    project = checkout / "pyproject.toml"
    for url in ("https://git.example.org/a/b", "https://git.example.org/c/d"):
        project.write_text(versions.with_address(project.read_text("utf-8"), url), "utf-8")
        versions.write(versions.version(checkout), checkout)
        galaxy = yaml.safe_load((checkout / "galaxy.yml").read_text("utf-8"))
        assert (versions.address(checkout), galaxy["repository"], galaxy["issues"]) == (url, url, f"{url}/issues")


def test_the_supported_versions_of_python_are_those_that_are_looked_for() -> None:
    setup = (ROOT / "requirements/setup.sh").read_text("utf-8")
    (names,) = re.findall(r"for name in ((?:python3\.\d+ )+)python3;", setup)
    assert names.split() == [f"python{name}" for name in reversed(PYTHONS)]
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert _listed(setup) == [PYTHONS]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_that_lists_versions_of_python_lists_those_that_are_supported(page: Path) -> None:
    assert [found for found in _listed((ROOT / page).read_text("utf-8")) if found != PYTHONS] == []


def _listed(text: str) -> list[list[str]]:
    """The versions in each enumeration of them, such as: Python 3.11, 3.12 or 3.13."""
    found = re.findall(r"Python ((?:3\.\d+(?:, |、))+3\.\d+ ?(?:or|或) ?3\.\d+)", text)
    return [re.findall(r"3\.\d+", each) for each in found]


def test_every_supported_ansible_core_is_locked_and_the_oldest_is_what_is_required() -> None:
    oldest = next(iter(CORES))
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text("utf-8"))
    assert {path.stem for path in LOCKS.glob("*.txt")} == CORES.keys()
    assert sorted({python for pythons in CORES.values() for python in pythons}) == PYTHONS
    assert f"ansible-core>={oldest}" in PROJECT["dependencies"]
    assert runtime["requires_ansible"] == f">={oldest}.0"


def test_a_forge_tests_every_python_and_every_ansible_core() -> None:
    jobs = WORKFLOW["jobs"]
    pairs = [(entry["core"], entry["python"]) for entry in jobs["unit"]["strategy"]["matrix"]["include"]]
    assert pairs == [(core, python) for core, pythons in CORES.items() for python in pythons]
    assert jobs["lint"]["strategy"]["matrix"]["python"] == PYTHONS
    commands = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    assert {"make lint", "make unit"} <= {*commands.splitlines()}
    assert ".ci/run" in commands


def test_actions_of_others_are_named_by_commit() -> None:
    used = [step["uses"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)] == []


@pytest.mark.parametrize("name", ["docs", "run"])
def test_a_library_has_the_same_version_in_every_lock(name: str) -> None:
    lock, whole = (_locked(ROOT / f"requirements/{each}.txt") for each in (name, "dev"))
    different = {package for package in lock.keys() & whole.keys() if lock[package] != whole[package]}
    assert different == set()


def _locked(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for package, number in re.findall(r"(?m)^([\w.-]+)==(\S+)", path.read_text("utf-8")):
        found.setdefault(package, set()).add(number)
    return found
