"""Files: written whole or not at all, and removed only below the directory that is meant, never through a link."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import BinaryIO

from kubeflow_volcano.problems import NotWritten


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
        raise NotWritten.problem(
            f"{what} cannot be written to {directory}: {error.strerror}.",
            "a directory with room that may be written.",
            f"free some room, or set {variable} to another directory.",
        ) from error
    return {name: str(directory / name) for name in texts}


def remove_file_below(root: Path, path: str | PurePath) -> None:
    """Remove the file, or the link, at `path` below the directory `root`, and the directories that had nothing else.

    What is absent already is no error.

    Raises:
        OSError: it cannot be removed, is a directory, or is behind a link (NotADirectoryError); nothing was touched.
    """
    with contextlib.suppress(FileNotFoundError), _places_above(root, path) as places:
        *above, name = PurePath(path).parts
        os.unlink(name, dir_fd=places[-1])
        for step, place in zip(reversed(above), reversed(places[:-1]), strict=True):
            try:
                os.rmdir(step, dir_fd=place)
            except OSError:  # not empty
                return


def remove_tree_below(root: Path, path: str | PurePath) -> None:
    """Remove the directory at `path` below the directory `root`, with all that is in it; absent is no error.

    Raises:
        OSError: it cannot be removed, or is a link or behind one (NotADirectoryError); nothing was touched.
    """
    with contextlib.suppress(FileNotFoundError), _places_above(root, path) as places:
        name = PurePath(path).name
        if not stat.S_ISDIR(os.stat(name, dir_fd=places[-1], follow_symlinks=False).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root / path))
        shutil.rmtree(name, dir_fd=places[-1])


@contextlib.contextmanager
def _places_above(root: Path, path: str | PurePath) -> Iterator[list[int]]:
    """Descriptors of `root` and of each directory on the way to `path`, each opened by the one above it.

    So no link that another program puts there meanwhile leads elsewhere.
    """
    *above, name = PurePath(path).parts
    if PurePath(path).is_absolute() or ".." in (*above, name):
        raise ValueError(f"{path} is not below a directory")
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with contextlib.ExitStack() as opened:
        places = [os.open(root, flags)]
        opened.callback(os.close, places[0])
        for step in above:
            places.append(os.open(step, flags | os.O_NOFOLLOW, dir_fd=places[-1]))
            opened.callback(os.close, places[-1])
        yield places


def links_in(folder: Path) -> Iterator[Path]:
    """The folder itself, or what is in it at any depth, that is a symbolic link."""
    if folder.is_symlink():
        yield folder
        return
    for place, folders, names in os.walk(folder):
        yield from (path for name in (*folders, *names) if (path := Path(place, name)).is_symlink())
