"""File systems of this host, by the paths on them. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import read


class Mount(NamedTuple):
    """A mount: its directory, type, source, and options, of the mount and of its file system."""

    point: str
    type: str
    source: str
    options: tuple[str, ...]


def look_paths(paths: Mapping[str, str]) -> dict[str, Any]:
    """The file system that each path lies on or would lie on."""
    known = mounts()
    found = {}
    for purpose, text in paths.items():
        path = Path(text)
        there = path.resolve()
        while not there.is_dir():
            there = there.parent
        mount = mount_of(str(there), known)
        sizes = os.statvfs(there)
        found[purpose] = {
            "path": text,
            "mode": f"{path.stat().st_mode & 0o7777:04o}" if path.is_dir() else "",
            "mount": mount.point,
            "type": mount.type,
            "options": list(mount.options),
            "bytes": sizes.f_blocks * sizes.f_frsize,
            "free": sizes.f_bavail * sizes.f_frsize,
            "inodes": sizes.f_files,
            "inodes_free": sizes.f_favail,
        }
    return found


def mounts() -> list[Mount]:
    """Every mount of this host, in the order of /proc/self/mountinfo (proc(5)): later ones hide earlier ones."""
    mounts = []
    for line in read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        point, own = left.split(" ")[4:6]
        kind, source, shared = right.split(" ", 2)
        mounts.append(Mount(_unescaped(point), kind, source, tuple(sorted({*own.split(","), *shared.split(",")}))))
    return mounts


def mount_of(path: str, known: list[Mount]) -> Mount:
    """The mount that a real path lies on; the last one of several on the same directory."""
    best = Mount("", "unknown", "", ())
    for mount in known:
        if f"{path}/".startswith(f"{mount.point.rstrip('/')}/") and len(mount.point) >= len(best.point):
            best = mount
    return best


def _unescaped(text: str) -> str:
    """A path of mountinfo, which has blanks as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)
