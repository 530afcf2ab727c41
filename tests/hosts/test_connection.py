"""Hosts that cannot be worked on, each made so for real: told once with what to do, while the others go on.

What is not openEuler: SSH, sudo and Python are Debian's.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.lab import Host, Lab

Play = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def good(lab: Lab) -> Iterator[Host]:
    host = lab.start(name="good")
    yield host
    host.remove()


@pytest.fixture
def bad(lab: Lab) -> Iterator[Host]:
    host = lab.start(name="bad")
    yield host
    host.remove()


@pytest.fixture
def play(lab: Lab, good: Host, bad: Host, tmp_path: Path) -> Play:
    """Make a directory of volumes on a good host and on a bad one, which has these variables of its own."""
    known = {"local_path_base_directory": f"/opt/local-path-provisioner/{tmp_path.name}"}

    def run(
        *options: str, playbook: str = "playbooks/hosts.yml", **of_the_bad: Any
    ) -> subprocess.CompletedProcess[str]:
        inventory = lab.inventory(tmp_path / "inventory", [good, bad], **known)
        content = yaml.safe_load(inventory.read_text())
        content["all"]["hosts"]["bad"] |= of_the_bad
        inventory.write_text(yaml.safe_dump(content))
        return lab.play(playbook, inventory, *options)

    return run


def told(done: subprocess.CompletedProcess[str]) -> str:
    """The end of the output, once it is sure that the good host was worked on and that no traceback was shown."""
    assert done.returncode != 0, done.stdout
    assert re.search(r"^good .* changed=[12] +unreachable=0 +failed=0", done.stdout, re.MULTILINE), done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    end = done.stdout.partition("LEFT OUT")[2].partition("\n")[2]
    assert (end.count("Found: bad: "), end.count("Needed:"), end.count("Do:")) == (1, 1, 1), done.stdout
    return end


def test_a_host_that_is_down_is_told_once_and_does_not_stop_the_others(play: Play, bad: Host) -> None:
    bad.stop()
    done = play("--tags", "local_path")
    assert os.strerror(errno.EHOSTUNREACH) in told(done)
    assert done.stdout.count("UNREACHABLE") == 1
    assert done.returncode == 4


def test_a_changed_host_key_is_told_with_both_ways_to_go_on(play: Play, bad: Host) -> None:
    bad.run("rm /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key")
    bad.stop()
    bad.start()
    end = told(play("--tags", "local_path"))
    assert "host key" in end
    assert "ssh-keygen -R" in end


@pytest.mark.long
def test_a_wrong_sudo_password_is_told_without_repeating_it(play: Play) -> None:
    wrong = {"ansible_become_password": "a-wrong-one"}
    done = play("--tags", "local_path", ansible_user="ops", **wrong)
    assert "sudo does not" in told(done)
    assert "a-wrong-one" not in done.stdout + done.stderr


def test_a_missing_sudo_password_is_asked_for(play: Play) -> None:
    assert "--ask-become-pass" in told(play("--tags", "local_path", ansible_user="ops"))


@pytest.mark.long
def test_a_user_that_the_host_does_not_know_is_told(play: Play) -> None:
    assert "user nobody-here" in told(play("--tags", "local_path", ansible_user="nobody-here"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("made_so", "found"),
    [
        ("echo 'Defaults requiretty' >/etc/sudoers.d/requiretty", "sudo says: sorry, you must have a tty to run sudo."),
        ("chage -d 0 ops", "the password or the account of this user has expired."),
        ("usermod -s /usr/sbin/nologin ops", "this user may not run commands; its shell is nologin."),
        ("mv /usr/bin/sudo /usr/bin/sudo.away", "sudo says: "),
    ],
    ids=["requiretty", "expired", "nologin", "no sudo"],
)
def test_a_user_who_cannot_become_root_is_told_why(play: Play, bad: Host, made_so: str, found: str) -> None:
    bad.run(made_so)
    password = {"ansible_become_password": "ops-secret"}
    assert found in told(play("--tags", "local_path", ansible_user="ops", **password))


@pytest.mark.long
def test_a_host_without_the_python_of_the_inventory_is_told(play: Play) -> None:
    end = told(play("--tags", "local_path", ansible_python_interpreter="/usr/bin/python4"))
    assert "no Python" in end


@pytest.mark.long
def test_a_host_that_goes_down_in_mid_run_is_told_and_the_next_run_ends_the_work(play: Play, bad: Host) -> None:
    """Its SSH server dies at the first module that runs there."""
    python = bad.root / "usr/bin/python-that-ends-the-host"
    python.write_text("""#!/bin/sh
[ -e /root/again ] || { touch /root/again; pkill -9 sshd; exit 1; }
exec python3 "$@"
""")
    python.chmod(0o755)
    own = {"ansible_python_interpreter": "/usr/bin/python-that-ends-the-host"}

    first = play("--tags", "local_path", **own)
    assert "ended while" in told(first)

    bad.stop()
    bad.start()
    second = play("--tags", "local_path", **own)
    assert second.returncode == 0, second.stdout
    assert re.search(r"^bad .* changed=1 ", second.stdout, re.MULTILINE)
    assert re.search(r"^good .* changed=0 ", second.stdout, re.MULTILINE)


@pytest.mark.long
def test_preflight_judges_the_others_and_names_the_one_that_is_down(play: Play, bad: Host, tmp_path: Path) -> None:
    bad.stop()
    done = play("-e", f"preflight_report_directory={tmp_path}", playbook="playbooks/preflight.yml")
    assert done.returncode != 0
    assert "1 of 2 hosts answered" in done.stdout
    assert len(re.findall(r"^ *found +bad: .*No route to host", done.stdout, re.MULTILINE)) == 1
    assert "Traceback" not in done.stdout + done.stderr
