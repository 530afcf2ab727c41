"""Sums of files, with progress where reading takes long."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import BinaryIO

from kubeflow_volcano.progress import Progress

_BEAT_SECONDS = 2.0
_CHUNK = 1 << 20
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


class Summing:
    """Reads files for their sums, and reports after every two seconds of reading how much was read of all of them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._seconds = 0.0
        self._read = 0

    def measure(self, path: Path, target: BinaryIO | None = None) -> tuple[int, str]:
        """Size in bytes and sha256 of a file, which is written to `target` if there is one.

        Raises:
            OSError: it cannot be read, or `target` not be written.
        """
        size, digest = 0, hashlib.sha256()
        before = time.monotonic()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                if target:
                    target.write(chunk)
                size += len(chunk)
                self._read += len(chunk)
                now = time.monotonic()
                self._seconds += now - before
                before = now
                if self._seconds > _BEAT_SECONDS:
                    self._seconds = 0.0
                    verb = "copied" if target else "verified"
                    self._progress(f"{verb} {size_of(self._read)} so far, now {path.name}")
        return size, digest.hexdigest()


def size_of(count: int) -> str:
    """A number of bytes for people: `390 bytes`, `2.1 MB`, `27 GB`."""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.{1 if count < 10 * size else 0}f} {unit}"
    return f"{count} bytes"
