"""Who holds the lock, and whether that process still lives, if it is one of this machine."""

from __future__ import annotations

import os
import re
import secrets
import socket
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

_NAME = re.compile(r"[^@]*@(?P<machine>\S+) process (?P<process>\d+) \([0-9a-f]+\)")
_PROC = Path("/proc")


class Life(StrEnum):
    """What this machine knows about the process of a holder."""

    UNKNOWN = "unknown"
    ALIVE = "alive"
    GONE = "gone"
    ORPHAN = "orphan"
    """A worker of Ansible whose parent was killed."""


def holder_name(user: str) -> str:
    """The name under which this process holds the lock: user, machine, process and a random part."""
    return f"{user}@{socket.gethostname()} process {os.getpid()} ({secrets.token_hex(4)})"


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of the lock, and when the lock expires unless renewed."""

    name: str
    until: datetime

    @property
    def process(self) -> int | None:
        """Its process id, if it is a process of this machine and not this one."""
        match = _NAME.fullmatch(self.name)
        number = int(match["process"]) if match and match["machine"] == socket.gethostname() else None
        return None if number == os.getpid() else number

    def life(self) -> Life:
        """Whether its process lives. UNKNOWN on other machines, and where the number belongs to another program now."""
        if self.process is None:
            return Life.UNKNOWN
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return Life.GONE
        except PermissionError:
            pass  # it belongs to another user
        command = _command(self.process)
        if not command:
            return Life.ALIVE  # a system without /proc, or one that hides processes of others
        if b"python" not in command and b"ansible" not in command:
            return Life.UNKNOWN
        # A worker is forked, and so has its parent's command line.
        orphaned = b"ansible" in command and _command(_parent(self.process)) != command
        return Life.ORPHAN if orphaned else Life.ALIVE

    def described(self, wait: str) -> tuple[str, str]:
        """A sentence about its process, and what to do; `wait` is the advice to wait.

        On another machine there is no sentence.
        """
        life, number = self.life(), self.process
        if life is Life.ALIVE:
            return f" Process {number} of this machine is alive.", wait
        if life is Life.GONE:
            return (
                f" There is no process {number} on this machine any more.",
                f"run again after {self.until:%H:%M:%S} UTC.",
            )
        if life is Life.ORPHAN:
            return (
                f" Process {number} of this machine is an orphan: the ansible-playbook that started it is gone.",
                f"kill {number}; then run again.",
            )
        return "", wait


def _command(process: int) -> bytes:
    """The command line of a process; empty if it cannot be read."""
    try:
        return (_PROC / str(process) / "cmdline").read_bytes()
    except OSError:
        return b""


def _parent(process: int) -> int:
    """The parent of a process; 0 if it cannot be read."""
    try:
        text = (_PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])
