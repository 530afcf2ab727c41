"""Programs on hosts: limits that hold, output that can be parsed, and names that sudo's own path leaves out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import programs

pytestmark = pytest.mark.programs


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_program_that_takes_too_long_is_ended_and_one_that_is_missing_is_told() -> None:
    code, _, why = programs.run(["sleep", "60"], 0.05)
    assert (code, "0.05 s" in why) == (124, True)
    assert programs.run(["no-such-program"], 5)[0] == 127


def test_what_a_late_program_started_is_ended_with_it(tmp_path: Path) -> None:
    """Otherwise it would keep the output open, and the module waiting."""
    slow = script(tmp_path / "slow", f"sleep 3600 & echo $! >{tmp_path}/pid; wait")
    assert programs.run([str(slow)], 0.5).code == 124
    pid = (tmp_path / "pid").read_text().strip()
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} still runs")


def test_output_is_of_the_c_locale_and_standard_input_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    shows = script(tmp_path / "shows", 'echo "$LC_ALL"; cat; echo trouble >&2; exit 3')
    assert programs.run([str(shows)], 5) == (3, "C\n", "trouble\n")


def test_programs_beyond_the_path_of_sudo_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "crictl", "echo here")
    monkeypatch.setattr(programs, "PLACES", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert programs.find_program("crictl") == str(tmp_path / "crictl")
    assert programs.run(["crictl"], 5).output == "here\n"
    assert programs.find_program("no-such-program") == ""


def test_what_go_programs_say_is_told_without_time_and_level() -> None:
    said = 'first\ntime="2026-11-22T01:53:11Z" level=fatal msg="pulling \\"a:1\\": not found"\n'
    assert programs.complaint(said) == 'pulling "a:1": not found'
    assert programs.complaint("plain\n\n") == "plain"
    assert programs.complaint("") == ""


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("containerd containerd.io 1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da", "1.7.27"),
        ("containerd github.com/containerd/containerd/v2 v2.0.0 207ad711eabd375a01713109a8a197d197ff6542", "2.0.0"),
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1", "1.6.20~ds1"),
        ("Docker version 20.10.7, build f0df350", "20.10.7"),
        ("command not found", ""),
    ],
)
def test_the_version_is_the_first_one_in_the_output(text: str, version: str) -> None:
    assert programs.version_in(text) == version
