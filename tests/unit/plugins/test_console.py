"""The output of plays over many hosts: what is of no news is counted, what changed or failed is told with its host.

Names of this machine stand for hosts; those that cannot be reached are behind a port on which nobody listens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.hosts.reaching import trouble
from tests.places import ROOT
from tests.playing import ansible

pytestmark = pytest.mark.programs

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
NOWHERE = {"ansible_host": "127.0.0.1", "ansible_port": 1}
NOTHING = {"ansible.builtin.set_fact": {"seen": True}}
"""What costs no program on any host."""
CHANGE = {**NOTHING, "changed_when": "inventory_hostname == 'node-03'"}


def played(
    place: Path,
    *tasks: dict[str, Any],
    count: int = 12,
    down: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    names = [f"node-{number:02}" for number in range(1, count + 1)]
    hosts = {name: NOWHERE if name in down else HERE for name in names}
    (place / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), "utf-8")
    named = [{"name": f"Do {number}", **task} for number, task in enumerate(tasks, start=1)]
    play = {"name": "Work", "hosts": "all", "gather_facts": False, "tasks": named, **more}
    (place / "play.json").write_text(json.dumps([play]), "utf-8")
    return ansible(*options, "-i", place / "hosts.json", place / "play.json")


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was said before the recap, without banners and empty lines."""
    body = done.stdout.partition("PLAY RECAP")[0].splitlines()
    return [line for line in body if line and not line.startswith(("PLAY", "TASK"))]


def end(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.partition("LEFT OUT")[2].partition("\n")[2]


def test_hosts_without_news_are_counted_and_the_changed_one_is_named(tmp_path: Path) -> None:
    skipped = {**NOTHING, "when": "inventory_hostname == 'node-03'"}

    done = played(tmp_path, CHANGE, {**skipped, "changed_when": False})

    assert done.returncode == 0, done.stdout
    assert lines(done) == ["changed: [node-03]", "ok: 11 hosts", "skipping: 11 hosts", "ok: 1 host"]
    assert "LEFT OUT" not in done.stdout


def test_items_of_loops_are_no_news_either(tmp_path: Path) -> None:
    done = played(tmp_path, {**CHANGE, "changed_when": False, "loop": [1, 2, 3]})
    assert lines(done) == ["ok: 12 hosts"]


def test_few_hosts_are_listed_as_ever(tmp_path: Path) -> None:
    assert sorted(lines(played(tmp_path, CHANGE, count=3))) == ["changed: [node-03]", "ok: [node-01]", "ok: [node-02]"]


def test_what_a_task_has_to_say_is_never_swallowed(tmp_path: Path) -> None:
    done = played(tmp_path, {"ansible.builtin.debug": {"msg": "look at {{ inventory_hostname }}"}})
    assert [f"look at node-{number:02}" in done.stdout for number in range(1, 13)] == [True] * 12


def test_verbose_output_lists_all(tmp_path: Path) -> None:
    assert played(tmp_path, CHANGE, options=("-v",)).stdout.count("ok: [node-") == 11


def test_hosts_that_cannot_be_reached_are_told_once_and_the_others_go_on(tmp_path: Path) -> None:
    asked = {"ansible.builtin.command": {"cmd": "true"}, "changed_when": CHANGE["changed_when"]}

    done = played(tmp_path, asked, CHANGE, down=("node-02", "node-07"), count=9)

    assert done.returncode == 4
    said = lines(done)
    assert sorted(line for line in said if "UNREACHABLE" in line) == [
        f"fatal: [{host}]: UNREACHABLE! => 127.0.0.1 port 1: Connection refused." for host in ("node-02", "node-07")
    ]
    assert said.count("changed: [node-03]") == 2
    known = trouble("ssh: connect to host 127.0.0.1 port 1: Connection refused", reached=False)
    assert known is not None
    assert end(done).splitlines() == [
        "Found: node-02, node-07: 127.0.0.1 port 1: Connection refused.",
        "Needed: an SSH server that answers this machine.",
        f"Do: {known.todo}",
    ]
    assert "Traceback" not in done.stdout + done.stderr


def test_hosts_behind_the_one_where_a_rolling_play_ended_are_told_as_not_begun(tmp_path: Path) -> None:
    failing = {"ansible.builtin.command": {"cmd": "false"}, "when": "inventory_hostname == 'node-02'"}

    done = played(tmp_path, failing, serial=1)

    assert done.returncode == 2
    told = end(done)
    assert 'Found: node-02: the task "Do 1" failed; its message says why.' in told
    assert "node-03, node-04, node-05, node-06, node-07 and 5 more: not begun in the play Work." in told


def test_words_of_a_failure_are_told_with_the_first_host_only(tmp_path: Path) -> None:
    reason = "{{ 'no way' if inventory_hostname == 'node-03' else 'a long story' }}"

    done = played(tmp_path, {"ansible.builtin.fail": {"msg": reason}}, count=4, order="sorted")

    assert done.stdout.count("msg: no way") == done.stdout.count("msg: a long story") == 1
    short = [line for line in lines(done) if " => as node-" in line]
    assert len(short) == 2
    assert 'Found: node-01, node-02, node-03, node-04: the task "Do 1" failed; its message says why.' in end(done)


def test_a_task_for_all_hosts_that_fails_leaves_not_only_the_first_out(tmp_path: Path) -> None:
    done = played(tmp_path, {"ansible.builtin.fail": {"msg": "not met"}, "run_once": True})
    assert done.returncode == 2
    assert "LEFT OUT" not in done.stdout


def test_the_same_change_is_shown_once_and_each_host_is_named(tmp_path: Path) -> None:
    directory = {"ansible.builtin.file": {"path": f"{tmp_path}/new", "state": "directory", "mode": "0755"}}

    done = played(tmp_path, {**directory, "diff": True, "check_mode": True}, count=9)

    assert done.stdout.count("changed: [node-") == 9
    assert (done.stdout.count("state: directory"), done.stdout.count("the same change as on node-")) == (1, 8)


def test_failures_that_differ_in_what_a_program_printed_are_both_told(tmp_path: Path) -> None:
    task = {"ansible.builtin.command": {"cmd": "sh -c 'echo because of {{ inventory_hostname }}; exit 1'"}}
    done = played(tmp_path, task, count=2)
    assert [f"because of node-0{number}" in done.stdout for number in (1, 2)] == [True, True]


def test_a_failure_that_was_seen_to_leaves_nobody_out(tmp_path: Path) -> None:
    seen = {"block": [{"ansible.builtin.command": {"cmd": "false"}}], "rescue": [CHANGE]}
    done = played(tmp_path, seen, count=9)
    assert done.returncode == 0
    assert "LEFT OUT" not in done.stdout


def test_a_host_without_python_is_told_with_what_to_do(tmp_path: Path) -> None:
    done = played(tmp_path, {"ansible.builtin.ping": {}, "vars": {"ansible_python_interpreter": "/no/python"}}, count=2)
    assert done.returncode != 0
    assert "Do: install python3 there, or set ansible_python_interpreter " in end(done)


def test_ansible_doc_shows_what_it_is(tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-doc"), "-t", "callback", "kfv_console"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )
    assert "instead of listed" in " ".join(done.stdout.split())


def test_a_difference_shows_what_is_in_it_and_does_not_steer_the_terminal(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old\x1b[2J\n", "utf-8")
    copy = {"ansible.builtin.copy": {"dest": str(target), "content": "new\u202e\n"}}
    done = played(tmp_path, copy, count=1, options=("--diff",))
    assert "\x1b" not in done.stdout
    assert "-old\\x1b[2J" in done.stdout
    assert "+new\\u202e" in done.stdout
