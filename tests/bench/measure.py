"""Running a command and accounting for it: wall time, its CPU time and the API server's, what it tells of itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.problems import Problem, ProblemsError

_LIMIT_SECONDS = 900.0
_LINES = 5


@dataclass(frozen=True, slots=True)
class Run:
    """What one command cost. `facts` is the JSON of its last line of output, where it printed such."""

    wall: float
    client_cpu: float
    server_cpu: float
    facts: dict[str, object]


def measure(
    command: Sequence[str],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    server_seconds: Callable[[], float] = lambda: 0.0,
) -> Run:
    """Run `command` to its end; everything that it prints goes to `log`.

    Raises:
        ProblemsError: it failed, or was not done in 15 minutes.
    """
    server = server_seconds()
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            process_group=0,
        )
        guard = threading.Timer(_LIMIT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        guard.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            guard.cancel()
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ProblemsError(
            Problem(
                f"{' '.join(command)} ended with {process.returncode} after {wall:.0f} s: {_end(log)}",
                "a run that succeeds: a failed one has no time.",
                "remove the cause.",
            )
        )
    return Run(wall, usage.ru_utime + usage.ru_stime, server_seconds() - server, _facts(log))


def _end(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").splitlines()[-_LINES:])


def _facts(log: Path) -> dict[str, object]:
    lines = log.read_text(errors="replace").splitlines()
    facts = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return dict(facts)
