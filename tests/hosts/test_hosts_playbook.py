"""playbooks/hosts.yml as a whole, over SSH: all of it in its order, interrupted, resumed, and left alone then.

containerd is the real one of each release. What is not openEuler: SSH, sudo, Python and coreutils are Debian's;
systemctl and crictl are stand-ins, and there is no kubelet. Volumes are left to the tests of local_path.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lab import Host, Lab, Registry
from tests.playing import started

CONFIG = "etc/containerd/config.toml"


@pytest.fixture(scope="module")
def mirror(lab: Lab) -> Registry:
    registry = lab.registry()
    registry.put("gcr.io/only/here", "1")
    return registry


@pytest.fixture
def hosts(lab: Lab) -> Iterator[list[Host]]:
    """A control plane and two workers, of both releases and three containerds."""
    found = [
        lab.start("24.03", "2.2", "control"),
        lab.start("22.03", "1.6", "worker-1"),
        lab.start("24.03", "1.7", "worker-2"),
    ]
    yield found
    for host in found:
        host.remove()


@pytest.fixture
def inventory(lab: Lab, hosts: list[Host], mirror: Registry, tmp_path: Path) -> Path:
    return lab.inventory(
        tmp_path / "inventory",
        hosts,
        ansible_user="ops",
        ansible_become_password="ops-secret",  # noqa: S106  of test hosts
        image_mirror_mode="containerd",
        image_mirror_rules=[{"source": "gcr.io", "prefix": mirror.address}],
        image_mirror_containerd_ca=str(mirror.ca),
        local_path_storage_mode="existing",
    )


def changes(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return {name: int(count) for name, count in re.findall(r"^(\S+) .* changed=(\d+) ", done.stdout, re.MULTILINE)}


def interrupted_at(inventory: Path, host: Host) -> str:
    """Run it, and end it with Ctrl-C when the configuration of that host is written."""
    before = (host.root / CONFIG).read_bytes()
    process = started("-i", inventory, "playbooks/hosts.yml", in_own_group=True)
    while process.poll() is None and (host.root / CONFIG).read_bytes() == before:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=300)[0]


@pytest.mark.long
def test_a_run_that_was_ended_between_nodes_is_ended_by_the_next_one(
    lab: Lab, hosts: list[Host], inventory: Path
) -> None:
    control, first, second = hosts
    before = {host.name: (host.root / CONFIG).read_bytes() for host in hosts}

    foreseen = lab.play("playbooks/hosts.yml", inventory, "--check", "--diff")
    assert all(count > 0 for name, count in changes(foreseen).items() if name != "localhost")
    assert {host.name: (host.root / CONFIG).read_bytes() for host in hosts} == before

    output = interrupted_at(inventory, first)
    assert "/plugins/" not in output.partition("Traceback")[2]  # of this project; Ansible's own workers may leave one
    assert [(host.root / CONFIG).read_bytes() == before[host.name] for host in (second, control)] == [True, True]

    resumed = lab.play("playbooks/hosts.yml", inventory)
    changes(resumed)
    order = re.findall(r"^changed: \[(\S+)\]", resumed.stdout.partition("node by node")[2], re.MULTILINE)
    assert order[-1] == "control", resumed.stdout
    for host in hosts:
        assert host.run("crictl pull gcr.io/only/here:1", check=False).returncode == 0, host.name

    assert set(changes(lab.play("playbooks/hosts.yml", inventory)).values()) == {0}
