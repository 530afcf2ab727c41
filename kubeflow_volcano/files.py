"""Atomic writes: a file has its old content or its new one, never a part of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from kubeflow_volcano.problems import NotWritten, Problem

__all__ = ["replacing", "write_file", "write_texts"]


def write_file(path: Path, content: str | bytes, mode: int | None = None) -> bool:
    """Write a file atomically; create its parent directories.

    Args:
        path: the file.
        content: its content; text is encoded as UTF-8.
        mode: permission bits from the creation on; by default the umask decides.

    Returns:
        Whether the content or the mode changed.

    Raises:
        OSError: it cannot be written; the file is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    with contextlib.suppress(OSError):
        if path.read_bytes() == data and mode in {None, path.stat().st_mode & 0o777}:
            return False
    with replacing(path, mode) as stream:
        stream.write(data)
    return True


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Write to a new file that replaces `path` when the block succeeds, and is deleted otherwise.

    Raises:
        OSError: it cannot be written; the file is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A unique name for each writer; file names have at most 255 bytes.
    fresh = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode or 0o666), "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)  # whatever the umask says
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_texts(directory: Path, texts: Mapping[str, str], what: str, variable: str) -> dict[str, str]:
    """Write each text to its file below `directory`; returns the path of each by name.

    `what` names the whole to people, `variable` the setting of the directory.

    Raises:
        NotWritten: it cannot be written.
    """
    try:
        for name, text in texts.items():
            write_file(directory / name, text)
    except OSError as error:
        raise NotWritten(
            Problem(
                f"{what} cannot be written to {directory}: {error.strerror}.",
                "a directory with room that may be written.",
                f"free some room, or set {variable} to another directory.",
            )
        ) from error
    return {name: str(directory / name) for name in texts}
