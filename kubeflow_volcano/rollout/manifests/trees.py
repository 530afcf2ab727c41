"""Unpacked archives, kept under the sum of their content, so that damage is noticed and repaired."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = [
    "Trees",
    "content_sum",
    "file_sum",
    "is_archive",
    "is_compressed",
    "keep_plain",
    "other_content",
    "page_instead",
    "scratch",
    "top_of",
]

_TARS = (".tar.gz", ".tgz", ".tar")
_GZIP = b"\x1f\x8b"
_REPOSITORY = ".git"
_DAY_SECONDS = 86_400


def file_sum(path: Path) -> str:
    """Sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_sum(folder: Path) -> str:
    """Sha256 of a folder's content, independent of the archive: of the lines "<sha256 of file>  <path below folder>".

    The lines are sorted by path, bytewise. A symbolic link counts with the text of its target. The repository of a
    checkout (.git) does not count, nor do empty directories.
    """
    lines: list[tuple[bytes, str]] = []
    for place, folders, names in os.walk(folder):
        if place == str(folder) and _REPOSITORY in folders:
            folders.remove(_REPOSITORY)
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*names, *links):
            path = Path(place, name)
            found = hashlib.sha256(os.fsencode(path.readlink())).hexdigest() if path.is_symlink() else file_sum(path)
            lines.append((os.fsencode(path.relative_to(folder)), found))
    total = hashlib.sha256()
    for path_text, found in sorted(lines):
        total.update(found.encode() + b"  " + path_text + b"\n")
    return total.hexdigest()


def is_archive(file: Path) -> bool:
    """Whether a file is a tar archive, or has the name of one."""
    return file.name.endswith(_TARS) or tarfile.is_tarfile(file)


def is_compressed(file: Path) -> bool:
    """Whether a file is compressed by gzip."""
    with file.open("rb") as opened:
        return opened.read(len(_GZIP)) == _GZIP


def keep_plain(file: Path, cache: Path, content: str | None = None, origin: str = "") -> Path:
    """An uncompressed copy of the file, in a directory of `cache` that is named after the copy's sha256.

    Raises:
        InvalidInput: it cannot be unpacked, or its sum is not `content`; nothing is kept.
    """
    try:
        text = gzip.decompress(file.read_bytes()) if is_compressed(file) else file.read_bytes()
    except (EOFError, OSError, zlib.error) as error:
        raise InvalidInput(_broken(file, origin, error)) from error
    found = hashlib.sha256(text).hexdigest()
    if content and found != content:
        raise InvalidInput(other_content(origin, found, content))
    kept = cache / found / file.name.removesuffix(".gz")
    if not kept.is_file() or file_sum(kept) != found:
        write_file(kept, text)
    return kept


def top_of(folder: Path) -> Path:
    """The folder, or the only directory in it, as in an unpacked archive."""
    held = list(folder.iterdir())
    return held[0] if len(held) == 1 and held[0].is_dir() and not held[0].is_symlink() else folder


def page_instead(file: Path) -> str:
    """Half a sentence if a file is a web page, as proxies and login pages serve instead of a download."""
    with file.open("rb") as opened:
        head = opened.read(200).lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return " and is an HTML page, perhaps of a proxy or a login"
    return ""


@contextlib.contextmanager
def scratch(home: Path) -> Iterator[Path]:
    """An empty directory below `home` while the block runs; those of killed runs are deleted after a day."""
    home.mkdir(parents=True, exist_ok=True)
    for left in home.glob("new-*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _DAY_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=home, prefix="new-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class Trees:
    """A directory of folders that are named after the sum of their content, and an index of their sources."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def of_content(self, content: str) -> Path | None:
        """The tree with that content, if it exists and is undamaged."""
        tree = self._home / content
        return tree if tree.is_dir() and content_sum(tree) == content else None

    def made_from(self, key: str) -> Path | None:
        """The tree that was last made from `key`, if it exists and is undamaged."""
        try:
            content = (self._home / "index" / key).read_text("ascii")
        except FileNotFoundError:
            return None
        return self.of_content(content)

    def unpacked(self, archive: Path, content: str | None = None, origin: str = "") -> Path:
        """The tree of an archive, without the one directory at its top.

        Raises:
            InvalidInput: it cannot be unpacked, has paths outside, or its content sum is not `content`.
        """
        key = file_sum(archive)
        kept = self.made_from(key)
        if kept is None or (content and kept.name != content):
            kept = self.make(key, lambda folder: _unpack(archive, folder, origin), content, origin)
        return kept

    def make(self, key: str, fill: Callable[[Path], Path], content: str | None = None, origin: str = "") -> Path:
        """Keep the folder that `fill` makes in an empty one, and record that it was made from `key`.

        Raises:
            InvalidInput: the sum of its content is not `content`; nothing is kept.
        """
        with scratch(self._home) as fresh:
            folder = fresh / "content"
            folder.mkdir()
            top = fill(folder)
            found = content_sum(top)
            if content and found != content:
                raise InvalidInput(other_content(origin, found, content))
            tree = self._home / found
            if self.of_content(found) is None:
                if tree.exists():
                    tree.rename(fresh / "damaged")
                self._move(top, tree)
            write_file(self._home / "index" / key, found)
        return tree

    def _move(self, top: Path, tree: Path) -> None:
        try:
            top.rename(tree)
        except OSError:
            if self.of_content(tree.name) is None:  # another run was faster
                raise


def _unpack(archive: Path, folder: Path, origin: str) -> Path:
    """Unpack into `folder`, and return it, or the only directory in it."""
    try:
        with tarfile.open(archive) as tar:
            _extract(tar, folder.resolve())
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise InvalidInput(_broken(archive, origin, error)) from error
    return top_of(folder)


def _extract(tar: tarfile.TarFile, root: Path) -> None:
    """Unpack members whose paths are below `root`. tarfile's own filter is absent before Python 3.11.4 (Debian 12)."""
    tar.extraction_filter = lambda member, _: member  # checked here, in every Python
    for member in tar:
        place = (root / member.name).resolve()
        target = (place.parent / member.linkname).resolve() if member.issym() else place
        if not (place.is_relative_to(root) and target.is_relative_to(root)):
            raise tarfile.ExtractError(f"{member.name} is outside of the archive")
        if not (member.isfile() or member.isdir() or member.issym()):
            raise tarfile.ExtractError(f"{member.name} is neither a file, a directory nor a symbolic link")
        tar.extract(member, root, set_attrs=False)


def _broken(file: Path, origin: str, error: Exception) -> Problem:
    text = "it is not a tar archive" if "could not be opened" in str(error) else str(error)
    return Problem(
        f"{origin or file} cannot be unpacked{page_instead(file)}: {text}.",
        "a complete tar archive, or a complete gzip-compressed file.",
        "download the file again.",
    )


def other_content(origin: str, found: str, needed: str) -> Problem:
    """The problem of content with another sum."""
    return Problem(
        f"{origin} has the content sum {found}.",
        f"the content sum {needed}, which covers all files, independent of the archive.",
        "correct the source or its sum; the download was not kept.",
    )
