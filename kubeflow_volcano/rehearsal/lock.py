"""One caller at a time; the lock ends with the process that holds it, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Busy
from kubeflow_volcano.progress import Progress

_RETRY_SECONDS = 0.2
_REPORT_SECONDS = 15.0


@contextlib.contextmanager
def hold_lock(
    path: Path, progress: Progress, wait_seconds: float, *, doing: str = "is changing this cluster"
) -> Iterator[None]:
    """Hold the lock file `path` for the time of a `with` block. The file is removed afterwards.

    `doing` says what the holder does, in the messages of the processes that wait.

    Raises:
        Busy: another process held it for all of `wait_seconds`; names its pid.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _acquire(path, progress, Deadline(wait_seconds), doing)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, progress: Progress, deadline: Deadline, doing: str) -> int:
    reported = 1.0 - _REPORT_SECONDS  # after a second: the holder has written its pid by then
    holder = "unknown"
    for elapsed in deadline.every(_RETRY_SECONDS):
        descriptor = _locked(path)
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            return descriptor
        with contextlib.suppress(FileNotFoundError):
            holder = path.read_text(encoding="utf-8").strip() or "unknown"
        if elapsed - reported >= _REPORT_SECONDS:
            reported = elapsed
            progress(f"waiting for process {holder}, which {doing}")
    raise Busy.problem(
        f"process {holder} {doing} (lock {path}, waited {deadline.elapsed:.0f} s).",
        "one process at a time.",
        f"wait for process {holder} to end, or end it, and start again.",
    )


def _locked(path: Path) -> int | None:
    """A descriptor of the locked file; None while another process holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        os.close(descriptor)  # the former holder removed the file that was just locked
