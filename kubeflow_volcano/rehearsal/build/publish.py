"""Directories that are either whole or not there, whatever ends the process that makes them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["published", "sweep"]

_UNFINISHED = ".unfinished-"


@contextlib.contextmanager
def published(target: Path) -> Iterator[Path]:
    """Fill the directory that a `with` block gets; it becomes `target`, on disk and in one step, when the block ends.

    What lay at `target` is replaced. Nothing is left of a block that raises.
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


def sweep(home: Path) -> None:
    """Remove what interrupted processes left unfinished in `home`. The caller holds the lock of `home`."""
    for leftover in home.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _sync(path: Path) -> None:
    if path.is_symlink():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
