"""What is said about the process that holds the lock."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubeflow_volcano.rollout.state.holder import Holder, Life, holder_name
from tests.waiting import until

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")

UNTIL = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
WAIT = "wait."
WORKER = """
import multiprocessing, os, sys, threading
def work():
    print(os.getpid(), flush=True)
    threading.Event().wait(120)
process = multiprocessing.get_context("fork").Process(target=work)
process.start()
process.join()
"""


def held(number: int, machine: str = "") -> Holder:
    return Holder(f"root@{machine or socket.gethostname()} process {number} (0123abcd)", UNTIL)


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program that looks like Ansible, and its worker."""
    command = [sys.executable, "-c", WORKER, "ansible-playbook"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        worker = int(parent.stdout.readline())
        yield parent, worker
        parent.kill()
        if Path(f"/proc/{worker}").exists():
            os.kill(worker, signal.SIGKILL)


@pytest.mark.programs
def test_a_worker_whose_parent_was_killed_is_an_orphan_that_may_be_ended(
    started: tuple[subprocess.Popen[str], int],
) -> None:
    parent, worker = started
    assert held(worker).life() is Life.ALIVE
    said, todo = held(worker).described(WAIT)
    assert (f"Process {worker} " in said, todo) == (True, WAIT)

    parent.kill()
    parent.wait()
    until(lambda: held(worker).life() is Life.ORPHAN, seconds=20)
    said, todo = held(worker).described(WAIT)
    assert "is an orphan" in said
    assert todo.startswith(f"kill {worker};")

    os.kill(worker, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{worker}/cmdline").exists() or held(worker).life() is Life.GONE, seconds=20)


@pytest.mark.programs
def test_a_process_that_has_ended_is_gone() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    said, todo = held(process.pid).described(WAIT)
    assert f"no process {process.pid}" in said
    assert "12:00:30 UTC" in todo


@pytest.mark.parametrize("holder", [held(1, "elsewhere"), Holder("someone", UNTIL), Holder(holder_name("me"), UNTIL)])
def test_nothing_is_said_about_processes_elsewhere_and_about_this_one(holder: Holder) -> None:
    assert holder.life() is Life.UNKNOWN
    assert holder.described(WAIT) == ("", WAIT)


@pytest.mark.programs
def test_another_program_that_now_has_the_number_is_never_to_be_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(b"sleep"), seconds=20)
        assert held(process.pid).described(WAIT) == ("", WAIT)
        process.kill()
