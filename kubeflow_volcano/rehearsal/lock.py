"""One caller at a time; the lock ends with the process that holds it, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from kubeflow_volcano.problems import Busy, Problem
from kubeflow_volcano.progress import Progress

__all__ = ["held"]

_RETRY_SECONDS = 0.2
_TELL_SECONDS = 15.0


@contextlib.contextmanager
def held(
    path: Path, progress: Progress, wait_seconds: float, *, doing: str = "is changing this cluster"
) -> Iterator[None]:
    """Hold the lock file `path` for the time of a `with` block. The file is gone afterwards.

    `doing` says to those who wait what the holder does.

    Raises:
        Busy: another process held it for all of `wait_seconds`; names its pid.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _acquire(path, progress, wait_seconds, doing)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, progress: Progress, wait_seconds: float, doing: str) -> int:
    started = time.monotonic()
    told = 1.0 - _TELL_SECONDS  # the holder has written its pid by then
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode().strip() or "unknown"
            os.close(descriptor)
        else:
            if _is_current(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return descriptor
            os.close(descriptor)  # the former holder removed the file that was just locked
            continue
        elapsed = time.monotonic() - started
        if elapsed >= wait_seconds:
            raise Busy(
                Problem(
                    f"process {holder} {doing} (lock {path}, waited {elapsed:.0f} s).",
                    "one process at a time.",
                    f"wait for process {holder} to end, or end it, and start again.",
                )
            )
        if elapsed - told >= _TELL_SECONDS:
            told = elapsed
            progress(f"waiting for process {holder}, which {doing}")
        time.sleep(_RETRY_SECONDS)


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
