"""A signal ends a run once, and not in the middle of what must be finished."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kubeflow_volcano.experiment.interruption import Interrupted, ending_with_parent, interruptible, postponed
from tests.waiting import until

ORPHAN = """
import multiprocessing, os, signal, sys, threading
from kubeflow_volcano.experiment.interruption import ending_with_parent, interruptible

def work(log):
    with open(log, "w") as out, ending_with_parent(), interruptible():
        try:
            print(os.getpid(), "started", file=out, flush=True)
            os.kill(os.getppid(), signal.SIGKILL)
            threading.Event().wait(60)
        finally:
            print("ended", file=out, flush=True)

fork = multiprocessing.get_context("fork")
process = fork.Process(target=work, args=(sys.argv[1],))
process.start()
process.join()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_is_raised_and_further_ones_are_ignored(number: signal.Signals, code: int) -> None:
    with interruptible():
        with pytest.raises(Interrupted) as caught:
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert caught.value.exit_code == code


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interruptible(), postponed():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_postponed_signal_takes_effect_behind_the_block() -> None:
    done = []

    def finish() -> None:
        with postponed():
            signal.raise_signal(signal.SIGINT)
            done.append("finished")

    with interruptible(), pytest.raises(Interrupted):
        finish()
    assert done == ["finished"]


def test_nothing_that_catches_exceptions_swallows_a_signal() -> None:
    assert not issubclass(Interrupted, Exception)


@pytest.mark.programs
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="asks /proc whether a process has ended")
def test_a_worker_whose_parent_was_killed_ends_in_the_middle_of_its_work(tmp_path: Path) -> None:
    """The parent forks a worker, as Ansible does for a task, and kills itself."""
    log = tmp_path / "log"
    subprocess.run([sys.executable, "-c", ORPHAN, str(log)], check=False, timeout=60)
    started = time.monotonic()
    until(lambda: "ended" in log.read_text("utf-8"), seconds=20)
    assert time.monotonic() - started < 5
    worker = int(log.read_text("utf-8").split()[0])
    until(lambda: not Path(f"/proc/{worker}").exists(), seconds=20)


def test_a_process_that_is_no_worker_watches_no_parent() -> None:
    before = threading.active_count()
    with ending_with_parent():
        assert threading.active_count() == before
