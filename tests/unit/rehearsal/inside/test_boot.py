"""Reading mount tables, and who may connect to a node."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.inside import boot
from kubeflow_volcano.rehearsal.inside.boot import Plan, _run, mounts_below, read_mounts


def test_optional_fields_and_escaped_blanks_are_read() -> None:
    text = "36 35 98:0 / /mnt/with\\040blank rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue\n"

    (mount,) = read_mounts(text)

    assert mount.point == Path("/mnt/with blank")
    assert (mount.kind, mount.options) == ("ext3", ("rw", "errors=continue"))


def test_mounts_below_are_this_machine_s() -> None:
    assert "/proc" in mounts_below(Path("/proc"))
    assert mounts_below(Path("/nowhere/at/all")) == ()


def test_what_requires_no_credentials_is_closed_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, ...]] = []
    monkeypatch.setattr(boot, "_run", lambda *command: done.append(command))
    plan = Plan("/r", [], [], "n", "192.0.2.2/30", "198.51.100.0/24", "203.0.113.0/24", 1, 10247, {}, {}, [], {})

    boot._network(plan)  # noqa: SLF001  the commands of a node's start

    (rule,) = [command for command in done if command[0] == "iptables"]
    assert " ".join(rule) == "iptables -A INPUT -p tcp --dport 10247 ! -i lo -j REJECT"


@pytest.mark.programs
def test_a_command_that_fails_ends_the_node_with_a_line_about_it() -> None:
    with pytest.raises(SystemExit, match=r"`false --x` .*code 1"):
        _run("false", "--x")
    with pytest.raises(SystemExit, match=r"`/no/ip link` .*No such file"):
        _run("/no/ip", "link")
