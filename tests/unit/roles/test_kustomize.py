"""The role kustomize, run by ansible-playbook against a local server that stands for a mirror of upstream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kustomize_mirror import Mirror, package_for, program
from tests.places import ROOT
from tests.playing import ansible

pytestmark = pytest.mark.programs


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    mirror = Mirror(tmp_path / "mirror")
    yield mirror
    mirror.stop()


@pytest.fixture
def package(mirror: Mirror, tmp_path: Path) -> Path:
    """A directory to import the project from, with the sums of the mirror's programs in its catalog."""
    return package_for(mirror, tmp_path / "package")


def play(tmp_path: Path, package: Path, *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the role alone with these variables, where upstream cannot be reached."""
    playbook = tmp_path / "play.yml"
    role = {"ansible.builtin.import_role": {"name": "kustomize"}}
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [role]}]), "utf-8")
    given = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **variables}
    words = ("-i", "localhost,", "-e", json.dumps(given), *options)
    return ansible(
        *words,
        playbook,
        PYTHONPATH=f"{package}:{ROOT}",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        https_proxy="http://127.0.0.1:9",
    )


@pytest.mark.parametrize(
    ("release", "version"),
    [
        pytest.param("1.6.1", "3.2.0", id="program", marks=pytest.mark.long),
        pytest.param("1.9.1", "5.2.1", id="archive"),
    ],
)
def test_the_release_s_own_comes_from_the_first_mirror_of_use_and_then_from_the_cache(
    mirror: Mirror, package: Path, tmp_path: Path, release: str, version: str
) -> None:
    mirrors = [f"{mirror.address}/bad", f"{mirror.address}/good"]

    first = play(tmp_path, package, kubeflow_release=release, kustomize_mirrors=mirrors)
    second = play(tmp_path, package, kubeflow_release=release, kustomize_mirrors=mirrors)

    place = tmp_path / "cache" / "kubeflow-volcano" / "kustomize" / version / "kustomize"
    assert first.returncode == 0, first.stdout
    assert "changed=1" in first.stdout
    assert place.read_bytes() == program(version)
    assert os.access(place, os.X_OK)
    assert (second.returncode, "changed=0" in second.stdout) == (0, True), second.stdout
    assert [path.split("/")[1] for path in mirror.asked] == ["bad", "good"]


def test_without_any_address_of_use_all_refusals_are_told_and_nothing_is_left(
    mirror: Mirror, package: Path, tmp_path: Path
) -> None:
    done = play(tmp_path, package, kustomize_mirrors=[f"{mirror.address}/bad", f"{mirror.address}/absent"])

    assert done.returncode == 2
    for words in ("https://github.com/kubernetes-sigs", "HTML page", "404", "set kustomize_binary"):
        assert words in done.stdout
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_given_binary_is_used_as_it_is_also_in_check_mode(mirror: Mirror, package: Path, tmp_path: Path) -> None:
    mine = tmp_path / "my-kustomize"
    mine.write_bytes(program("9.9.9"))
    mine.chmod(0o755)

    done = play(tmp_path, package, "--check", kustomize_binary=str(mine))

    assert (done.returncode, "changed=0" in done.stdout) == (0, True), done.stdout
    assert mirror.asked == []
