"""The supervisor, as a real process with real children; what it does as process 1 is tested on a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.rehearsal import inside
from kubeflow_volcano.rehearsal.inside.supervisor import Daemon, Duty, is_ready, next_delay, rotate_log
from tests.places import ROOT

pytestmark = pytest.mark.programs

PACKAGE = ROOT


def shell(name: str, script: str, *, needs_api: bool = False) -> Daemon:
    return Daemon(name, "/bin/sh", [name, "-c", script], needs_api)


@contextmanager
def supervised(home: Path, *daemons: Daemon) -> Iterator[Callable[[], dict[str, Any]]]:
    """Run a supervisor; gives a function that reads its status file."""
    duty = Duty(
        list(daemons), {"PATH": os.defpath}, str(home), str(home / "status.json"), "https://127.0.0.1:1/", "/none"
    )
    (home / "duty.json").write_text(json.dumps(asdict(duty)))
    command = [
        sys.executable,
        "-S",
        "-P",
        "-m",
        "kubeflow_volcano.rehearsal.inside.supervisor",
        str(home / "duty.json"),
    ]
    environment = {"PYTHONPATH": str(PACKAGE), "PATH": os.defpath}
    with (home / "node.txt").open("w") as out, subprocess.Popen(command, stdout=out, env=environment) as process:
        try:
            yield lambda: json.loads((home / "status.json").read_text())
        finally:
            status = json.loads((home / "status.json").read_text()) if (home / "status.json").exists() else {}
            process.terminate()
            process.wait(30)
            for run in status.values():
                if run["pid"]:
                    with suppress(ProcessLookupError):  # one that ends by itself may have, since that was written
                        os.kill(run["pid"], signal.SIGKILL)


def eventually(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (FileNotFoundError, KeyError):
            pass
        time.sleep(0.02)
    pytest.fail(f"not within {seconds} s")


def test_daemons_run_under_their_own_name_and_log_to_their_own_file(tmp_path: Path) -> None:
    with supervised(tmp_path, shell("one", "echo here; echo there >&2; exec sleep 60")) as status:
        eventually(lambda: status()["one"]["pid"] > 0)
        eventually(lambda: (tmp_path / "one.log").read_text() == "here\nthere\n")


def test_a_killed_daemon_is_started_again_and_counted(tmp_path: Path) -> None:
    with supervised(tmp_path, shell("one", "exec sleep 60")) as status:
        eventually(lambda: status()["one"]["pid"] > 0)
        first = status()["one"]["pid"]
        os.kill(first, signal.SIGKILL)

        eventually(lambda: status()["one"]["restarts"] == 1 and status()["one"]["pid"] not in {0, first})
        assert status()["one"]["lastExit"] == "SIGKILL"
        assert "one ended (SIGKILL)" in (tmp_path / "node.txt").read_text()


def test_a_daemon_that_keeps_failing_is_not_started_in_a_tight_loop(tmp_path: Path) -> None:
    with supervised(tmp_path, shell("bad", "exit 3")) as status:
        started = time.monotonic()
        eventually(lambda: status()["bad"]["restarts"] >= 3)
        assert time.monotonic() - started >= 0.5 + 1.0
        assert status()["bad"]["lastExit"] == "exit code 3"


def test_a_daemon_that_needs_the_api_waits_for_it(tmp_path: Path) -> None:
    with supervised(tmp_path, shell("now", "exec sleep 60"), shell("later", "exec sleep 60", needs_api=True)) as status:
        eventually(lambda: status()["now"]["pid"] > 0)
        time.sleep(0.5)
        assert status()["later"]["pid"] == 0


def test_sigterm_ends_the_supervisor(tmp_path: Path) -> None:
    with supervised(tmp_path, shell("one", "exec sleep 60")) as status:
        eventually(lambda: status()["one"]["pid"] > 0)
    # leaving the block waits for the end, for 30 s at most


def test_pauses_double_to_half_a_minute_and_are_forgiven() -> None:
    pauses = [0.0]
    for _ in range(9):
        pauses.append(next_delay(pauses[-1], ran_seconds=1))

    assert pauses[1:5] == [0.5, 1.0, 2.0, 4.0]
    assert pauses[-1] == 30.0
    assert next_delay(30.0, ran_seconds=61) == 0.5


def test_a_log_is_cut_under_the_descriptor_of_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    with log.open("a") as writer:
        writer.write("former\n")
        writer.flush()

        rotate_log(log)
        writer.write("later\n")

    assert log.read_text() == "later\n"
    assert (tmp_path / "a.log.1").read_text() == "former\n"


def test_a_closed_port_is_not_ready() -> None:
    assert not is_ready("https://127.0.0.1:1/readyz", "/etc/hostname")


def test_modules_of_the_node_need_nothing_but_the_standard_library() -> None:
    modules = sorted(f"{inside.__name__}.{path.stem}" for path in Path(*inside.__path__).glob("[!_]*.py"))
    foreign = "[m for m in sys.modules if m.startswith('kubeflow_volcano.rehearsal.inside.')]"

    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", f"import sys, json, {','.join(modules)}; print(json.dumps({foreign}))"],
        env={"PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert sorted(json.loads(done.stdout)) == modules
