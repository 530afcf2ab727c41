"""Programs of this host, run with limits. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Directories of programs that the secure_path of sudo may leave out, /usr/local/bin above all."""
MISSING, LATE = 127, 124
"""Exit codes for a program that cannot be started, and for one that was killed because its time was over."""
BRIEF_SECONDS = 45
"""For a program that only answers a question: on a busy host `containerd --version` has taken more than 15 s."""
_MESSAGE = re.compile(r'\bmsg="((?:[^"\\]|\\.)*)"')
_MOST_CHARACTERS = 800


class Finished(NamedTuple):
    """How a program ended: exit code, standard output, standard error."""

    code: int
    output: str
    errors: str


def find_program(name: str) -> str:
    """Path of a program; empty where there is none."""
    return shutil.which(name, path=_search_path()) or ""


def run(command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None) -> Finished:
    """Run a program to its end, in the C locale and without standard input; never raises for a program that fails.

    `environment` has variables in addition to those of this process; unlike arguments, other users cannot read them.
    When `seconds` are over, it is killed together with everything that it started.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,  # Ansible sends the module itself through standard input
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", "PATH": _search_path(), **(environment or {})},
            start_new_session=True,
        )
    except OSError as error:
        return Finished(MISSING, "", f"{command[0]}: {error.strerror}")
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return Finished(LATE, "", f"timed out after {seconds} s")
    return Finished(process.returncode, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))


def complaint(errors: str) -> str:
    """The last line of an error output, without the time and level that Go programs print before the message."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    message = _MESSAGE.search(last)
    return (message[1].replace('\\"', '"') if message else last)[:_MOST_CHARACTERS]


def version_in(text: str) -> str:
    """The first version in what a program prints, such as 1.7.28 or 1.6.20~ds1; empty where there is none."""
    match = re.search(r"\bv?(\d+\.\d+\.\d+(?:[-~][\w.]+)?)", text)
    return match.group(1) if match else ""


def _search_path() -> str:
    return f"{os.environ.get('PATH', '')}:{PLACES}"
