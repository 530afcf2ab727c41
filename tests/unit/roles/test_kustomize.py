"""The role kustomize, run by ansible-playbook against a local server that stands for a mirror of upstream."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kustomize_mirror import Mirror, package_for, program
from tests.places import ROOT


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    mirror = Mirror(tmp_path / "mirror")
    yield mirror
    mirror.stop()


@pytest.fixture
def package(mirror: Mirror, tmp_path: Path) -> Path:
    """A directory to import the project from, with the sums of the mirror's programs in its catalog."""
    return package_for(mirror, tmp_path / "package")


def play(
    tmp_path: Path, package: Path, *options: str, hosts: str = "localhost,", entry: str = "main", **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Run the role alone with these variables, where upstream cannot be reached."""
    playbook = tmp_path / "play.yml"
    role = {"ansible.builtin.import_role": {"name": "kustomize", "tasks_from": entry}}
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [role]}]), "utf-8")
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "NO_COLOR": "1",
        "PYTHONPATH": f"{package}:{ROOT}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "https_proxy": "http://127.0.0.1:9",
    }
    given = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **variables}
    return subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            "-i",
            hosts,
            "-e",
            json.dumps(given),
            *options,
            playbook,
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.mark.parametrize(("release", "version"), [("1.6.1", "3.2.0"), ("1.9.1", "5.2.1")], ids=["program", "archive"])
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


def test_a_version_without_a_known_sum_is_refused_before_any_download(
    mirror: Mirror, package: Path, tmp_path: Path
) -> None:
    done = play(tmp_path, package, kustomize_version="5.9.9", kustomize_mirrors=[f"{mirror.address}/good"])

    assert done.returncode == 2
    assert "5.9.9" in done.stdout
    assert mirror.asked == []


def test_hosts_get_it_and_change_with_the_version_and_check_mode_foresees_that(
    mirror: Mirror, package: Path, tmp_path: Path
) -> None:
    """Two names of this machine stand for hosts; tests/hosts has real ones."""
    target = tmp_path / "bin"
    target.mkdir()

    def on_hosts(*options: str, **variables: Any) -> tuple[int, list[str]]:
        """Exit code, and how much changed on each host."""
        done = play(
            tmp_path,
            package,
            *options,
            hosts="node-1,node-2",
            entry="hosts",
            kustomize_mirrors=[f"{mirror.address}/good"],
            kustomize_directory=f"{target}/{{{{ inventory_hostname }}}}",
            **variables,
        )
        return done.returncode, re.findall(r"changed=(\d+)", done.stdout)

    programs = [target / name / "kustomize" for name in ("node-1", "node-2")]
    for program_of_host in programs:
        program_of_host.parent.mkdir()

    assert on_hosts(kubeflow_release="1.9.1") == (0, ["0", "0"])  # nobody asked for it
    assert mirror.asked == []

    asked = {"kustomize_install_on_hosts": True}
    # The cache, which is filled once and counted with the first host, and each host.
    assert on_hosts("--check", kubeflow_release="1.9.1", **asked) == (0, ["2", "1"])
    assert not any(program_of_host.exists() for program_of_host in programs)
    assert len(mirror.asked) == 1

    assert on_hosts(kubeflow_release="1.9.1", **asked) == (0, ["1", "1"])
    assert {program_of_host.read_bytes() for program_of_host in programs} == {program("5.2.1")}
    assert on_hosts(kubeflow_release="1.9.1", **asked) == (0, ["0", "0"])

    assert on_hosts(kubeflow_release="1.6.1", **asked) == (0, ["2", "1"])
    for program_of_host in programs:
        (former,) = program_of_host.parent.glob("kustomize.*~")
        assert program_of_host.read_bytes() == program("3.2.0")
        assert stat.S_IMODE(program_of_host.stat().st_mode) == 0o755
        assert former.read_bytes() == program("5.2.1")
    assert len(mirror.asked) == 2


def test_only_hosts_that_ask_for_it_get_it(mirror: Mirror, package: Path, tmp_path: Path) -> None:
    for name in ("node-1", "node-2"):
        (tmp_path / name).mkdir()

    done = play(
        tmp_path,
        package,
        hosts="node-1,node-2",
        entry="hosts",
        kustomize_install_on_hosts="{{ inventory_hostname == 'node-2' }}",
        kustomize_mirrors=[f"{mirror.address}/good"],
        kustomize_directory=f"{tmp_path}/{{{{ inventory_hostname }}}}",
    )

    assert done.returncode == 0, done.stdout
    assert [path.name for path in (tmp_path / "node-1").iterdir()] == []
    assert (tmp_path / "node-2" / "kustomize").read_bytes() == program("5.2.1")


def test_a_program_that_does_not_run_on_a_host_does_not_replace_the_one_that_does(
    mirror: Mirror, package: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "my-kustomize"
    mine.write_text(f"#!/bin/sh\n[ $0 = {mine} ] && echo v9.9.9\n", "utf-8")  # runs at its own place only
    mine.chmod(0o755)
    target = tmp_path / "bin"
    target.mkdir()
    (target / "kustomize").write_bytes(program("5.2.1"))

    done = play(
        tmp_path,
        package,
        hosts="node-1,",
        entry="hosts",
        kustomize_install_on_hosts=True,
        kustomize_directory=str(target),
        kustomize_binary=str(mine),
    )

    assert done.returncode == 2
    assert "failed to validate" in done.stdout
    assert (target / "kustomize").read_bytes() == program("5.2.1")
    assert mirror.asked == []


def test_a_given_binary_is_used_as_it_is_also_in_check_mode(mirror: Mirror, package: Path, tmp_path: Path) -> None:
    mine = tmp_path / "my-kustomize"
    mine.write_bytes(program("9.9.9"))
    mine.chmod(0o755)

    done = play(tmp_path, package, "--check", kustomize_binary=str(mine))

    assert (done.returncode, "changed=0" in done.stdout) == (0, True), done.stdout
    assert mirror.asked == []
