"""A cache of directories: each is whole or absent, and is removed when it was not used for long."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from kubeflow_volcano.directories import disused
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted

_UNFINISHED = ".unfinished-"
_MOST = 60
"""Three generations have some forty."""
_ENTRY = re.compile(r"[a-z0-9][a-z0-9._-]*-[0-9a-f]{12}")


@contextlib.contextmanager
def publish(target: Path) -> Iterator[Path]:
    """Fill the directory that a `with` block gets; it becomes `target`, on disk and in one step, when the block ends.

    An earlier `target` is replaced. Nothing is left of a block that raises.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=target.parent))
    replaced = fresh.with_name(f"{fresh.name}-replaced")
    fresh.chmod(0o755)
    try:
        yield fresh
        for directory, _, files in os.walk(fresh):
            for name in (*files, "."):
                _sync(Path(directory, name))
        if target.exists():
            target.rename(replaced)
        fresh.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


def _sync(path: Path) -> None:
    if path.is_symlink():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_unfinished(cache: Path) -> None:
    """Remove what interrupted processes left in `cache`. The caller holds the lock of `cache`."""
    for leftover in cache.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def mark_used(entries: Iterable[Path]) -> None:
    """Record in the modification time of these directories that they are in use now."""
    for entry in entries:
        os.utime(entry)


def remove_unused(cache: Path, progress: Progress) -> None:
    """Remove entries of `cache` that no cluster was brought up with for 30 days, and the oldest of very many.

    What was used within a day stays, and what a running cluster mounts. The caller holds the lock of `cache`.
    """
    old = unused(cache)
    mounted = _all_mounts() if old else ""
    for entry, days in old.items():
        if f"/{entry.name}/" not in mounted:
            progress(f"removing {entry.name}, which was not used for {counted(days, 'day')}")
            shutil.rmtree(entry)


def unused(cache: Path) -> dict[Path, int]:
    """The entries that `remove_unused` would remove if nothing mounts them, with the days since their last use."""
    uses = {
        entry: entry.stat().st_mtime
        for entry in cache.iterdir()
        if _ENTRY.fullmatch(entry.name) and not entry.is_symlink()
    }
    return disused(uses, _MOST)


def _all_mounts() -> str:
    """Mount tables of all processes of this machine: a node mounts its tools in its own namespace."""
    texts = []
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            texts.append(table.read_text())
        except OSError:  # the process has ended
            continue
    return "".join(texts)
