"""The user's cache stays small: what was not used for long is removed, never what a run is using."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.directories import disused
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted

_DAY_SECONDS = 86_400.0
_SUM = re.compile(r"[0-9a-f]{64}")
_RECORD = re.compile(r"[0-9a-f]{64}(?:-whole)?")


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder of the cache: which of its names are entries, and how many are kept."""

    name: str
    entries: re.Pattern[str]
    most: int


# A whole release has some 40 renders, and one tree for itself and one with its remote bases.
_FOLDERS = (
    _Folder("renders", re.compile(r"[0-9a-f]{64}\.json"), 600),
    _Folder("trees", _SUM, 30),
    _Folder("downloads", _SUM, 60),
    _Folder("kustomize", re.compile(r"[0-9]+(?:\.[0-9]+)+"), 5),
)


class Uses:
    """Entries that this process is using: locked, so that no other process removes them meanwhile."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def hold(self, entry: Path) -> bool:
        """Use a directory of the cache from now on; False if there is none, or another process is removing it."""
        try:
            descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno == errno.EWOULDBLOCK:
                return False
        else:
            self._release(entry)
            self._held[entry] = descriptor
        mark_used(entry)
        return entry.is_dir()

    def _release(self, entry: Path) -> None:
        descriptor = self._held.pop(entry, None)
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        for entry in list(self._held):
            self._release(entry)


def mark_used(entry: Path) -> None:
    """Record in the modification time of an entry that it is used now."""
    with contextlib.suppress(OSError):  # absent, or the cache of another user
        os.utime(entry)


def prune(cache: Path, progress: Progress) -> None:
    """Remove entries that were not used for 30 days, and the least recently used ones where there are too many.

    What was used within a day stays in any case, and what another process holds. A cache that cannot be changed stays
    as it is: no run fails for it.
    """
    removed = 0
    for folder in _FOLDERS:
        for entry in _old(cache / folder.name, folder):
            with contextlib.suppress(OSError):
                removed += _remove(entry)
    with contextlib.suppress(OSError, ValueError):
        _forget_sources(cache / "trees")
    if removed:
        progress(f"removed {counted(removed, 'entry', 'entries')} of {cache} that had not been used for long")


def _old(home: Path, folder: _Folder) -> tuple[Path, ...]:
    """The entries to remove, the least recently used first."""
    used: dict[Path, float] = {}
    with contextlib.suppress(OSError):
        for entry in () if home.is_symlink() else home.iterdir():  # nothing is removed through a link
            if folder.entries.fullmatch(entry.name) and not entry.is_symlink():
                with contextlib.suppress(OSError):
                    used[entry] = entry.stat().st_mtime
    return tuple(disused(used, folder.most))


def _remove(entry: Path) -> bool:
    """Remove an entry unless it is in use, in one step for other processes; whether it was removed."""
    descriptor = os.open(entry, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(descriptor).st_mtime <= _DAY_SECONDS:
            return False
        if not entry.is_dir():
            entry.unlink()
            return True
        aside = entry.with_name(f"new-{secrets.token_hex(4)}")  # leftovers of that name are removed after a day
        entry.rename(aside)
        shutil.rmtree(aside)
    finally:
        os.close(descriptor)
    return True


def _forget_sources(trees: Path) -> None:
    """Remove records of sources whose trees do not exist any more."""
    index = trees / "index"
    if any(place.is_symlink() for place in (trees, index)) or not index.is_dir():
        return
    for record in index.iterdir():
        if _RECORD.fullmatch(record.name) and not (trees / record.read_text("ascii")).is_dir():
            record.unlink()
