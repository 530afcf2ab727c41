"""Tools that nobody uses any more go; those of a running node stay."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.build import cache
from kubeflow_volcano.rehearsal.build.cache import mark_used, remove_unused

OLD = time.time() - 31 * 24 * 3600


def _kept(folder: Path, name: str, seconds: float) -> Path:
    home = folder / name
    (home / "bin").mkdir(parents=True)
    os.utime(home, (seconds, seconds))
    return home


def test_only_tools_unused_for_a_month_go(tmp_path: Path) -> None:
    for name, seconds in {"kube-0123456789ab": OLD, "kube-ba9876543210": time.time(), "logs": OLD}.items():
        _kept(tmp_path, name, seconds)
    told: list[str] = []
    remove_unused(tmp_path, told.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kube-ba9876543210", "logs"]
    (line,) = told
    assert "kube-0123456789ab" in line


def test_the_oldest_of_very_many_go_but_none_that_was_used_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_MOST", 1)
    now, day = time.time(), 86_400
    ages = {"a-0123456789ab": 3.0, "b-0123456789ab": 2.0, "c-0123456789ab": 0.1, "d-0123456789ab": 0.2}
    for name, days in ages.items():
        _kept(tmp_path, name, now - days * day)
    remove_unused(tmp_path, print)
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["c", "d"]


def test_use_is_noted(tmp_path: Path) -> None:
    home = _kept(tmp_path, "kube-0123456789ab", OLD)
    mark_used([home])
    remove_unused(tmp_path, print)
    assert home.is_dir()


@pytest.mark.programs
def test_what_a_node_has_mounted_stays(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    home = _kept(tmp_path, "kube-0123456789ab", OLD)
    (tmp_path / "inside").mkdir()
    script = 'mount --bind "$1/bin" "$2" && echo mounted && read -r _'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(home), str(tmp_path / "inside")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        assert node.stdout.readline() == "mounted\n"
        remove_unused(tmp_path, print)
        assert home.is_dir()
        node.communicate("\n", timeout=10)
    remove_unused(tmp_path, print)
    assert not home.exists()


def test_a_tool_that_is_a_link_to_elsewhere_stays(tmp_path: Path) -> None:
    home = _kept(tmp_path, "elsewhere", OLD)
    (tmp_path / "kube-0123456789ab").symlink_to(home)
    remove_unused(tmp_path, print)
    assert (tmp_path / "kube-0123456789ab/bin").is_dir()
