"""Directories with the packages of a lock: made once, and kept in the cache by content. All is verified by its hash."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class NotInstalledError(Exception):
    """Something of a lock was not installed."""


def made(home: Path, name: str, lock: str, make: Callable[[Path, Path], None]) -> Path:
    """A directory below `home` that holds what the lock says; only one process makes it, whole or not at all.

    Args:
        home: a directory of the cache.
        name: what the lock is of; a directory of an earlier lock goes.
        lock: requirements with hashes.
        make: fills the directory; it is given a file with the lock, too.
    """
    place = home / f"{name}-{hashlib.sha256(lock.encode()).hexdigest()[:12]}"
    done = place / ".complete"
    with _alone(home / f".{name}.lock"):
        if not done.exists():
            for old in home.glob(f"{name}-*"):
                shutil.rmtree(old)
            place.mkdir()
            file = place / "requirements.txt"
            file.write_text(lock, "utf-8")
            make(place, file)
            done.touch()
    return place


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def virtual_environment(python: Path, place: Path, *requirements: Path) -> None:
    """An environment of this Python; what an earlier file locks is there to build what a later one does."""
    subprocess.run([python, "-m", "venv", "--without-pip", place], check=True)
    for file in requirements:
        install("--no-build-isolation", "-r", str(file), python=place / "bin" / "python")


def install(*arguments: str, python: Path | None = None) -> None:
    """Install what is locked, all of it named: nothing is resolved.

    Raises:
        NotInstalledError: pip says why.
    """
    program = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    into = ["--python", str(python)] if python else []
    command = [*program, *into, "install", "--no-deps", "--require-hashes", *arguments]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise NotInstalledError(done.stderr)
