"""Unpacked archives, kept under the sum of their content, so that damage is noticed and repaired."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.retries import naming_full_disks
from kubeflow_volcano.rollout.manifests.archives import DAMAGED, plain_bytes, top_of, unpack
from kubeflow_volcano.rollout.manifests.pruning import Uses

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


def keep_plain(file: Path, cache: Path, content: str | None = None, origin: str = "") -> Path:
    """An uncompressed copy of the file, in a directory of `cache` that is named after the copy's sha256.

    Raises:
        InvalidInput: it cannot be unpacked, or its sum is not `content`; nothing is kept.
    """
    try:
        text = plain_bytes(file)
    except DAMAGED as error:
        raise InvalidInput(_broken(file, origin, error)) from error
    digest = hashlib.sha256(text).hexdigest()
    if content and digest != content:
        raise InvalidInput(other_content(origin, digest, content))
    kept = cache / digest / file.name.removesuffix(".gz")
    if not kept.is_file() or file_sum(kept) != digest:
        with naming_full_disks(cache):
            write_file(kept, text)
    return kept


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

    def __init__(self, home: Path, uses: Uses | None = None) -> None:
        """`uses` holds the trees that are found or made."""
        self._home = home
        self._uses = uses or Uses()

    def of_content(self, content: str) -> Path | None:
        """The tree with that content, if it exists and is undamaged."""
        tree = self._home / content
        return tree if self._uses.hold(tree) and content_sum(tree) == content else None

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
        key = f"{file_sum(archive)}-whole"  # other keys have trees of archives that were not read to their end
        kept = self.made_from(key)
        if kept is None or (content and kept.name != content):
            kept = self.make(key, lambda folder: _unpack(archive, folder, origin), content, origin)
        return kept

    def make(self, key: str, fill: Callable[[Path], Path], content: str | None = None, origin: str = "") -> Path:
        """Keep the folder that `fill` makes in an empty one, and record that it was made from `key`.

        Raises:
            InvalidInput: the sum of its content is not `content`; nothing is kept.
        """
        with naming_full_disks(self._home), scratch(self._home) as fresh:
            folder = fresh / "content"
            folder.mkdir()
            top = fill(folder)
            total = content_sum(top)
            if content and total != content:
                raise InvalidInput(other_content(origin, total, content))
            tree = self._home / total
            if self.of_content(total) is None:
                if tree.exists():
                    tree.rename(fresh / "damaged")
                self._move(top, tree)
            self._uses.hold(tree)
            write_file(self._home / "index" / key, total)
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
        unpack(archive, folder)
    except DAMAGED as error:
        raise InvalidInput(_broken(archive, origin, error)) from error
    return top_of(folder)


def _broken(file: Path, origin: str, error: Exception) -> Problem:
    text = str(error)
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
