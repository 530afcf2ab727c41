"""How test hosts and labs begin and end, and that they leave nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lab import Lab
from tests.hosts.lab.__main__ import main

pytestmark = pytest.mark.long


def test_a_disk_outlives_the_host_and_goes_with_it(lab: Lab) -> None:
    host = lab.start()
    host.run("echo kept > /root/file")
    host.stop()
    with pytest.raises(RuntimeError, match="is down"):
        _ = host.root
    assert host.start().run("cat /root/file").stdout == "kept\n"
    host.remove()
    assert not host.place.directory.exists()


def test_two_labs_side_by_side_do_not_meet(lab: Lab) -> None:
    other = Lab()
    try:
        mine, theirs = lab.start(name="same"), other.start(name="same")
        assert not lab.bridge.subnet.overlaps(other.bridge.subnet)
        assert mine.run(f"ping -c 1 -W 1 {theirs.address}", check=False).returncode != 0
    finally:
        other.remove()
    assert mine.run("hostname").stdout == "same\n"
    mine.remove()


def belongs(process: Path, seed: str) -> bool:
    """Whether a process is in a lab's control groups; one that ended, and that init has not asked for yet, is not."""
    try:
        groups, status = ((process / name).read_text() for name in ("cgroup", "status"))
    except OSError:
        return False
    return f"kfv-lab-{seed}" in groups and "State:\tZ" not in status


def traces(seed: str) -> list[str]:
    """What a lab of that name has on this machine."""
    links = subprocess.check_output(["ip", "-brief", "link"], text=True).splitlines()
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/kfv-lab-{seed}")]
    processes = [path.name for path in Path("/proc").glob("[0-9]*") if belongs(path, seed)]
    directory = Lab.home(seed)
    return [
        *(line for line in [*links, *mounts] if seed in line),
        *groups,
        *processes,
        *([str(directory)] if directory.exists() else []),
    ]


def test_nothing_is_left_of_a_removed_lab() -> None:
    lab = Lab()
    lab.start(containerd="2.2")
    assert len(traces(lab.seed)) > 5
    lab.remove()
    assert traces(lab.seed) == []


def test_the_next_lab_clears_what_a_killed_one_left() -> None:
    script = "from tests.hosts.lab import Lab; lab = Lab(); lab.start(); print(lab.seed, flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert process.stdin
    assert process.stdout
    with process:
        seed = process.stdout.readline().strip()
        os.kill(process.pid, signal.SIGKILL)
    assert traces(seed)
    Lab().remove()
    assert traces(seed) == []


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    """An inventory for hosts that stay until they are taken down."""
    hosts = {"first": {"test_host_release": "24.03"}, "second": {"test_host_release": "22.03"}, "localhost": None}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    yield tmp_path
    assert main(["down", str(tmp_path)]) == 0


def test_hosts_to_try_roles_on_stay_until_they_are_taken_down(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.hosts.lab", "up", str(kept)]
    subprocess.run(command, check=True, capture_output=True)
    first = (kept / "ssh.cfg").read_text()
    assert main(["up", str(kept)]) == 0
    assert "up already" in capsys.readouterr().err
    assert (kept / "ssh.cfg").read_text() == first
    Lab().remove()  # which clears what others left, but not what is kept
    seen = subprocess.check_output(
        ["ssh", "-F", kept / "ssh.cfg", "root@second", "cat /etc/openEuler-release"], text=True
    )
    assert seen == "openEuler release 22.03 (LTS-SP4)\n"
    assert main(["down", str(kept)]) == 0
    assert not (kept / "ssh.cfg").exists()


def test_a_release_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"a": {"test_host_release": "20.03"}}}}))
    assert main(["up", str(tmp_path)]) == 2
    assert "one of 22.03, 24.03" in capsys.readouterr().err


def test_a_host_that_does_not_come_up_says_why(lab: Lab) -> None:
    host = lab.start()
    host.run("rm /usr/sbin/sshd")
    host.stop()
    with pytest.raises(RuntimeError, match=r"not come up: (.|\n)*/usr/sbin/sshd"):
        host.start()
    host.remove()
