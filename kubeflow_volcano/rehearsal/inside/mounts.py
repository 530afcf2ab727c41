"""Reading /proc/self/mountinfo. Nothing but the standard library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mount", "mounts", "mounts_below"]


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system; `options` are those of the file system itself."""

    point: Path
    kind: str
    options: tuple[str, ...]


def mounts(mountinfo: str) -> Iterator[Mount]:
    """The mounts that the text of a mountinfo file lists (proc_pid_mountinfo(5)), in its order."""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        yield Mount(Path(_plain(left.split()[4])), kind, tuple(options.split(",")))


def mounts_below(directory: Path) -> tuple[str, ...]:
    """Mount points of this process's namespace in or below `directory`."""
    text = Path("/proc/self/mountinfo").read_text()
    return tuple(dict.fromkeys(str(mount.point) for mount in mounts(text) if mount.point.is_relative_to(directory)))


def _plain(field: str) -> str:
    """Spaces and their like are written as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
