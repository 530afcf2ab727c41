"""Fifty hosts: one module run on each, output that does not grow with them, and the two that are down told once.

The hosts are real in that each has an SSH server and a Python of its own; they have no containerd, so that preflight
has something to find, alike on all. How many seconds it takes is measured, not tested: see docs/hosts.md.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lab import Host, Lab

pytestmark = pytest.mark.long

COUNT = 50
COUNTED = "/usr/bin/python-counted"


@pytest.fixture(scope="module")
def fifty(lab: Lab) -> Iterator[list[Host]]:
    """Hosts whose Python writes down that it was called; two of them are down."""
    hosts = lab.start_many(COUNT, name="scale")
    for host in hosts:
        python = host.root / COUNTED.lstrip("/")
        python.write_text('#!/bin/sh\necho run >>/root/runs\nexec /usr/bin/python3 "$@"\n')
        python.chmod(0o755)
    for host in (hosts[7], hosts[20]):
        host.stop()
    yield hosts
    for host in hosts:
        host.remove()


@pytest.fixture(scope="module")
def inventory(lab: Lab, fifty: list[Host], tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = {"ansible_python_interpreter": COUNTED, "local_path_storage_mode": "existing"}
    return lab.inventory(tmp_path_factory.mktemp("inventory"), fifty, **own)


def body(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines before Ansible's table of hosts at the end."""
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout.partition("PLAY RECAP")[0].splitlines()


def test_preflight_of_all_is_one_module_run_each_and_as_many_lines_as_of_ten(
    lab: Lab, fifty: list[Host], inventory: Path, tmp_path: Path
) -> None:
    reports = ("-e", f"preflight_report_directory={tmp_path}")
    up = [host for number, host in enumerate(fifty) if number not in {7, 20}]

    done = lab.play("playbooks/preflight.yml", inventory, *reports)

    assert "48 of 50 hosts answered" in done.stdout, done.stdout + done.stderr
    assert [(host.root / "root/runs").read_text().count("run") for host in up] == [1] * 48
    for host in (fifty[7], fifty[20]):
        assert len(re.findall(rf"\b{host.name}: ", "\n".join(body(done)))) == 1
    report = json.loads((tmp_path / "preflight-latest.json").read_text())
    assert report["summary"]["fail"] > 0

    ten = lab.play("playbooks/preflight.yml", inventory, *reports, "--limit", ",".join(host.name for host in up[:10]))
    assert len(body(done)) <= len(body(ten)) + 10, done.stdout  # two that are down: one finding, told and advised


def test_hosts_with_nothing_to_change_are_counted(lab: Lab, fifty: list[Host], inventory: Path) -> None:
    done = lab.play("playbooks/hosts.yml", inventory, "--tags", "repair")
    assert done.returncode == 0, done.stdout
    assert "skipping: 50 hosts" in done.stdout
    assert [line for line in body(done) if fifty[0].name in line] == []
