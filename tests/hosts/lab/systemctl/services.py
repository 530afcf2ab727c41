"""Starting and stopping one service.

Types: simple, exec, notify, oneshot. KillMode: process, else the group of the main process stands for the control
group. What a service prints goes to /var/log/units/<unit>.log.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from tests.hosts.lab.systemctl.units import LOGS, STATE, Unit

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
_LIMIT_SECONDS = 90.0
_LOOK_SECONDS = 0.02  # the program is nobody's child here, so its end cannot be waited on
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def start(unit: Unit) -> int:
    """Start a unit and wait until it is up, as its Type says. Exit code 0, or 1 with the reason told."""
    if unit.masked:
        return refuse(f"Failed to start {unit.name}: Unit {unit.name} is masked.")
    if unit.file is None:
        return refuse(f"Failed to start {unit.name}: Unit {unit.name} not found.", 5)
    if unit.active == "active":
        return 0
    LOGS.mkdir(exist_ok=True)
    with (LOGS / f"{unit.name}.log").open("ab") as log:
        bring_up = _run_once if unit.get("Type") == "oneshot" else _launch
        if _run_all(unit, "ExecStartPre", log) and bring_up(unit, log):
            return 0
    unit.note(failed=True)
    return refuse(
        f"Job for {unit.name} failed because the control process exited with error code.\n"
        f'See "systemctl status {unit.name}" and "journalctl -xeu {unit.name}" for details.'
    )


def stop(unit: Unit) -> int:
    """SIGTERM, and SIGKILL when TimeoutStopSec is over."""
    if unit.file is None and not unit.state:
        return refuse(f"Failed to stop {unit.name}: Unit {unit.name} not loaded.", 5)
    if pid := unit.pid:
        send = os.kill if unit.get("KillMode") == "process" else os.killpg
        deadline = time.monotonic() + _seconds(unit.get("TimeoutStopSec"))
        with contextlib.suppress(ProcessLookupError):
            send(pid, signal.SIGTERM)
            while unit.pid:
                time.sleep(_LOOK_SECONDS)
                if time.monotonic() > deadline:
                    send(pid, signal.SIGKILL)
    unit.note()
    return 0


def reload_service(unit: Unit) -> int:
    """ExecReload, with $MAINPID."""
    lines = unit.all("ExecReload")
    if not lines or not unit.pid:
        return refuse(f"Failed to reload {unit.name}: Job type reload is not applicable for unit {unit.name}.")
    words = ([word.replace("$MAINPID", str(unit.pid)) for word in shlex.split(line)] for line in lines)
    return max(subprocess.run(command, check=False).returncode for command in words)


def refuse(text: str, code: int = 1) -> int:
    """Tell why, on standard error; returns the exit code."""
    sys.stderr.write(f"{text}\n")
    return code


def _run_all(unit: Unit, key: str, log: IO[bytes]) -> bool:
    """Run one command after the other; one that begins with - may fail."""
    for line in unit.all(key):
        done = subprocess.run(shlex.split(line.lstrip("-")), check=False, **_surroundings(unit, log))
        if done.returncode and not line.startswith("-"):
            return False
    return True


def _run_once(unit: Unit, log: IO[bytes]) -> bool:
    unit.note(exited=unit.get("RemainAfterExit") in {"yes", "true", "1"})
    return _run_all(unit, "ExecStart", log)


def _launch(unit: Unit, log: IO[bytes]) -> bool:
    """Start the main process; whether it came up."""
    STATE.mkdir(exist_ok=True)
    address = STATE / f"{unit.name}.notify"
    address.unlink(missing_ok=True)
    notifies = unit.get("Type").startswith("notify")
    surroundings = _surroundings(unit, log)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind(str(address))
        if notifies:
            surroundings["env"]["NOTIFY_SOCKET"] = str(address)
        command = shlex.split(unit.get("ExecStart"))
        try:
            process = subprocess.Popen(command, start_new_session=True, **surroundings)
        except OSError as error:
            log.write(f"{command[0]}: {error.strerror}\n".encode())
            return False
        unit.note(pid=process.pid)
        up = not notifies or _became_ready(ready, process, unit)
    address.unlink()
    if not up:
        stop(unit)
    return up


def _became_ready(ready: socket.socket, process: subprocess.Popen[bytes], unit: Unit) -> bool:
    """Whether READY=1 comes before the process ends or its time is over; see sd_notify(3)."""
    deadline = time.monotonic() + _seconds(unit.get("TimeoutStartSec"))
    ready.settimeout(0.1)
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            if b"READY=1" in ready.recv(4096).split(b"\n"):
                return True
    return False


def _surroundings(unit: Unit, log: IO[bytes]) -> dict[str, Any]:
    variables = {"PATH": _PATH, "LANG": "C.UTF-8"}
    for line in unit.all("Environment"):
        variables.update(_assignments(shlex.split(line)))
    for name in unit.all("EnvironmentFile"):
        with contextlib.suppress(OSError):
            lines = Path(name.lstrip("-")).read_text().splitlines()
            variables.update(_assignments([" ".join(shlex.split(line, comments=True)) for line in lines]))
    return {"env": variables, "cwd": "/", "umask": 0o022, "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}


def _assignments(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


def _seconds(span: str) -> float:
    """A time span of systemd.time(7), such as "90" or "1min 30s"; the default for an empty one."""
    parts = re.findall(r"([\d.]+)\s*([a-z]*)", span)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else _LIMIT_SECONDS
