"""Files of this host. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = ""
"""Put before every absolute path; only tests set it."""
_MOST_CHARACTERS = 1 << 20


def place(path: str) -> Path:
    """Where a path of the host is."""
    return Path(ROOT + path)


def read(path: str, longest: int = _MOST_CHARACTERS) -> str:
    """Text of a file; empty where there is none.

    Raises:
        OSError: there is one, and it cannot be read.
    """
    try:
        with place(path).open(encoding="utf-8", errors="replace") as file:
            return file.read(longest)
    except (FileNotFoundError, NotADirectoryError):
        return ""


def listed(directory: str, suffix: str = "") -> list[str]:
    """Paths of the entries of a directory with that suffix, sorted; none where there is no directory."""
    try:
        names = sorted(path.name for path in place(directory).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [f"{directory}/{name}" for name in names if name.endswith(suffix)]


def exists(path: str) -> bool:
    """Whether there is something at that path."""
    return place(path).exists()


def drop_ins(directories: Iterable[str]) -> list[str]:
    """Files that systemd reads from these directories, in its order: by name; the first directory's file wins."""
    files: dict[str, str] = {}
    for directory in directories:
        for path in listed(directory, ".conf"):
            files.setdefault(path.rpartition("/")[2], path)
    return [files[name] for name in sorted(files)]


def assignments(text: str) -> dict[str, str]:
    """NAME=value lines, as in os-release."""
    values = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            values[name.strip()] = value.strip().strip("\"'")
    return values


def put(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file in one step, with the owner, mode and label of the one before; a new one is root's, with `mode`."""
    path = path.resolve()  # a link stays one
    make_directory(path.parent)
    fresh, descriptor = opened(path)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            like(path, fresh)
            os.utime(fresh)
        else:
            fresh.chmod(mode)
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        raise


def make_directory(path: Path) -> None:
    """With all above it, readable by others whatever the umask is."""
    for each in (*reversed(path.parents), path):
        if not each.exists():
            each.mkdir()
            each.chmod(0o755)


def opened(path: Path) -> tuple[Path, int]:
    """A new file to replace that one, which root alone can read from its creation on, and its descriptor.

    An interrupted run may have left one of that name.
    """
    fresh = path.with_name(f".{path.name}.kubeflow-volcano-new")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    return fresh, os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def like(source: Path, target: Path) -> None:
    """Owner, mode, times and label (an extended attribute) of the source."""
    status = source.stat()
    os.chown(target, status.st_uid, status.st_gid)
    shutil.copystat(source, target)
