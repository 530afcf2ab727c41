"""Process 1 of a node: starts the daemons, restarts those that end, reaps orphans, limits the logs.

Runs as a program of its own: `supervisor FILE`, a JSON file with the keys of `Duty`. Standard output is the node's own
log.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_STEADY_SECONDS = 60.0
"""A daemon that ran this long counts as healthy: its next restart has the shortest delay."""
_LOG_LIMIT = 16 << 20
_LOG_CHECK_SECONDS = 5.0
_READY_CHECK_SECONDS = 0.1
_IDLE_SECONDS = 1.0
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Daemon:
    """A program that the supervisor keeps running.

    `command` begins with argv[0]. `needs_api`: it is not started before the API server answered for the first time.
    """

    name: str
    program: str
    command: list[str]
    needs_api: bool = False


@dataclass(frozen=True, slots=True)
class Duty:
    """All daemons of a node, the directory of their logs, and the URL at which the API server reports readiness."""

    daemons: list[Daemon]
    environment: dict[str, str]
    log_directory: str
    status_file: str
    ready_url: str
    authority: str

    @classmethod
    def load(cls, path: Path) -> Duty:
        """Read what `dataclasses.asdict` and `json` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        return cls(**(raw | {"daemons": [Daemon(**daemon) for daemon in raw["daemons"]]}))


def next_delay(previous: float, ran_seconds: float) -> float:
    """Seconds until the next start; doubles up to half a minute while a daemon keeps ending early."""
    if ran_seconds >= _STEADY_SECONDS:
        return _FIRST_PAUSE
    return min(previous * 2, _LONGEST_PAUSE) if previous else _FIRST_PAUSE


@dataclass(slots=True)
class Run:
    """The current or last run of a daemon; times are monotonic."""

    pid: int = 0
    started: float = 0.0
    pause: float = 0.0
    due: float = 0.0
    restarts: int = 0
    last_exit: str = ""


@dataclass(slots=True)
class Supervisor:
    """Keeps the daemons of one `Duty` running until SIGTERM."""

    duty: Duty
    runs: dict[str, Run] = field(default_factory=dict)
    api_seen: bool = False
    logs_checked: float = 0.0

    def keep(self) -> None:
        """Run until SIGTERM; when process 1 ends, the kernel kills all others of its pid namespace."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
        self.runs = {daemon.name: Run() for daemon in self.duty.daemons}
        while True:
            changed = self._start_due()
            changed |= self._reap()
            if changed:
                self._write_status()
            self._bound_logs()
            received = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM}, self._patience())
            if received is not None and received.si_signo == signal.SIGTERM:
                return
            if not self.api_seen:
                self.api_seen = is_ready(self.duty.ready_url, self.duty.authority)

    def _patience(self) -> float:
        if not self.api_seen:
            return _READY_CHECK_SECONDS
        now = time.monotonic()
        waits = [run.due - now for run in self.runs.values() if not run.pid]
        return max(0.01, min([_IDLE_SECONDS, *waits]))

    def _start_due(self) -> bool:
        started = False
        for daemon in self.duty.daemons:
            run = self.runs[daemon.name]
            if run.pid or run.due > time.monotonic() or (daemon.needs_api and not self.api_seen):
                continue
            run.pid, run.started = self._spawn(daemon), time.monotonic()
            started = True
        return started

    def _spawn(self, daemon: Daemon) -> int:
        log = f"{self.duty.log_directory}/{daemon.name}.log"
        return os.posix_spawn(
            daemon.program,
            daemon.command,
            self.duty.environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                # Appending, so that a log can be truncated while its daemon has it open.
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=(),
        )

    def _reap(self) -> bool:
        changed = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return changed
            if not pid:
                return changed
            for name, run in self.runs.items():
                if run.pid == pid:
                    self._ended(name, run, os.waitstatus_to_exitcode(status))
                    changed = True

    @staticmethod
    def _ended(name: str, run: Run, code: int) -> None:
        now = time.monotonic()
        run.pause = next_delay(run.pause, now - run.started)
        run.pid, run.due = 0, now + run.pause
        run.restarts += 1
        run.last_exit = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        _say(f"{name} ended ({run.last_exit}) after {now - run.started:.1f} s; next start in {run.pause:.1f} s")

    def _write_status(self) -> None:
        status = {
            name: {"pid": run.pid, "restarts": run.restarts, "lastExit": run.last_exit}
            for name, run in self.runs.items()
        }
        path = Path(self.duty.status_file)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(status))
        fresh.replace(path)

    def _bound_logs(self) -> None:
        now = time.monotonic()
        if now - self.logs_checked < _LOG_CHECK_SECONDS:
            return
        self.logs_checked = now
        for log in Path(self.duty.log_directory).glob("*.log"):
            if log.stat().st_size > _LOG_LIMIT:
                rotate_log(log)


def is_ready(url: str, authority: str) -> bool:
    """Whether an HTTPS server whose certificate `authority` (a file) signed answers `url` with 200."""
    parts = urlsplit(url)
    with contextlib.suppress(OSError, http.client.HTTPException):
        context = ssl.create_default_context(cafile=authority)
        connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=_ANSWER_SECONDS, context=context
        )
        with contextlib.closing(connection):
            connection.request("GET", parts.path)
            return connection.getresponse().status == http.HTTPStatus.OK
    return False


def rotate_log(log: Path) -> None:
    """Move the content to `<log>.1`; the file stays the same, as its writer has it open."""
    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
    os.truncate(log, 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Supervisor(Duty.load(Path(sys.argv[1]))).keep()
