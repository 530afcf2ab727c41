"""A bundle that is made, or continued: files appear whole, and are listed when they are there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.files import links_in, remove_file_below, replacing, write_file
from kubeflow_volcano.problems import Busy, InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.retries import naming_full_disks
from kubeflow_volcano.rollout.bundle.contents import (
    CONTENTS,
    FOLDERS,
    SUMS,
    Contents,
    Entry,
    OtherFormat,
    load,
    text_of,
)
from kubeflow_volcano.rollout.bundle.reading import damage, unlisted
from kubeflow_volcano.rollout.bundle.sums import Summing
from kubeflow_volcano.text import few

_BEGUN_FILE = re.compile(r"\.(.+)\.[0-9a-f]{8}")
_BEGUN_IMAGE = re.compile(r"\.(.+)\.partial")


class Writer:
    """The bundle below `directory`, which has the given contents when it is complete.

    With `check` nothing is written. Only what bundle.json lists is ever removed, and what was begun beside it, and
    nothing through a link.
    """

    def __init__(self, directory: Path, contents: Contents, progress: Progress, *, check: bool) -> None:
        self.directory = directory
        self._contents = contents
        self._check = check
        self._summing = Summing(progress)
        self._files = {entry.path: entry for entry in contents.files}

    @classmethod
    @contextlib.contextmanager
    def open(cls, directory: Path, header: Contents, progress: Progress, *, check: bool = False) -> Iterator[Writer]:
        """Begin a bundle with that `header`, or continue the one in the directory.

        Raises:
            InvalidInput: the directory has other files, or links, or cannot be written.
            Busy: another process is writing into it.
        """
        begun = _begun(directory)
        _require_no_links(directory)
        writer = cls(directory, replace(header, complete=False, files=begun), progress, check=check)
        if check:
            yield writer
            return
        try:
            with naming_full_disks(directory):
                directory.mkdir(parents=True, exist_ok=True)
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise InvalidInput(_unwritable(directory, error)) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy.problem(
                f"another process is writing into {directory}.", "one process at a time.", "wait until it ends."
            ) from error
        else:
            with naming_full_disks(directory):
                yield writer
        finally:
            os.close(lock)

    def entries(self, folder: str) -> dict[str, Entry]:
        """What is listed below a folder, by path."""
        return {path: entry for path, entry in self._files.items() if path.startswith(f"{folder}/")}

    def is_whole(self, path: str, source: str, same_as: Path | None = None) -> bool:
        """Whether a file is listed with that source and has its size and sum, and those of the file `same_as`."""
        entry = self._files.get(path)
        if entry is None or entry.source != source or damage(self.directory, entry, self._summing):
            return False
        return same_as is None or self._summing.measure(same_as)[1] == entry.sha256

    def put(self, path: str, source: str, file: Path) -> None:
        """Copy a file into the bundle, and list it.

        Raises:
            OSError: it cannot be copied.
        """
        self.save()  # so that a directory with files of a bundle is known for one
        with replacing(self.directory / path) as target:
            size, total = self._summing.measure(file, target)
        self._files[path] = Entry(path, size, total, source)
        self.save()

    def adopt(self, path: str, source: str) -> None:
        """List a file that was written into the bundle by another program; `save` comes after the last of them."""
        size, total = self._summing.measure(self.directory / path)
        self._files[path] = Entry(path, size, total, source)

    def keep_only(self, wanted: Collection[str]) -> None:
        """Remove what is listed and not wanted any more, and what interrupted runs have left.

        Raises:
            InvalidInput: there are files in the folders of the bundle that it never listed.
        """
        known = {*self._files, *wanted}
        for path in [path for path in self._files if path not in wanted]:
            del self._files[path]
            self._remove(path)
        self.save()
        for path in [path for path in unlisted(self.directory, self._files) if _is_remains(path, known)]:
            self._remove(path)
        if foreign := sorted(unlisted(self.directory, self._files)):
            raise InvalidInput.problem(
                f"{self.directory} has files that are not of the bundle: {few(foreign)}.",
                f"no other files in {', '.join(FOLDERS)}.",
                "move them elsewhere, and run playbooks/bundle.yml again.",
            )

    def _remove(self, path: str) -> None:
        """Remove a file, and the directories that had nothing else."""
        try:
            remove_file_below(self.directory, path)
        except (NotADirectoryError, IsADirectoryError) as error:
            raise InvalidInput(_no_file(self.directory, path)) from error

    def finish(self) -> Contents:
        """Declare the bundle complete; returns its contents."""
        self._contents = replace(self._contents, complete=True)
        contents = self.save()
        listed = [(entry.sha256, entry.path) for entry in contents.files]
        listed.append((self._summing.measure(self.directory / CONTENTS)[1], CONTENTS))
        write_file(self.directory / SUMS, "".join(f"{total}  {path}\n" for total, path in listed))
        return contents

    def save(self) -> Contents:
        """Write bundle.json, if it changed."""
        self._contents = replace(self._contents, files=tuple(sorted(self._files.values())))
        write_file(self.directory / CONTENTS, text_of(self._contents))
        return self._contents


def _begun(directory: Path) -> tuple[Entry, ...]:
    """The files of a bundle that was begun in the directory; a damaged list is begun again."""
    try:
        names = sorted(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InvalidInput(_unwritable(directory, error)) from error
    if CONTENTS not in names:
        taken = [name for name in names if name in FOLDERS]
        if taken:
            raise InvalidInput.problem(
                f"{directory} has {few(taken)}, and no {CONTENTS}.",
                "an empty directory, or a bundle that was begun.",
                "set kubeflow_bundle to another directory, or move these away.",
            )
        return ()
    try:
        return load(directory).files
    except OtherFormat:
        raise
    except InvalidInput:
        return ()


def _require_no_links(directory: Path) -> None:
    """Through a link, files would be written and removed that are not of the bundle."""
    links = [path.relative_to(directory).as_posix() for folder in FOLDERS for path in links_in(directory / folder)]
    if links:
        raise InvalidInput(_linked(directory, sorted(links)))


def _linked(directory: Path, links: list[str]) -> Problem:
    return Problem(
        f"{directory} has symbolic links: {few(links)}.",
        "directories and files of its own: a bundle is carried as a whole, and nothing is removed through a link.",
        "replace each link by a directory, or set kubeflow_bundle to a directory on the disk that it leads to; "
        "kubeflow_bundle itself may be a link.",
    )


def _no_file(directory: Path, path: str) -> Problem:
    return Problem(
        f"{directory / path} is no file of the bundle, but a directory, or behind a symbolic link.",
        "the file that bundle.json lists, or nothing.",
        "see who put it there, move it elsewhere, and run playbooks/bundle.yml again.",
    )


def _is_remains(path: str, known: Collection[str]) -> bool:
    """Whether a run that was killed has left this file: begun beside a file or an image that is known.

    `replacing` and `Archive` give what they begin these names.
    """
    place, _, name = path.rpartition("/")
    if begun := _BEGUN_FILE.fullmatch(name):
        return any(
            other.rpartition("/")[2].startswith(begun[1]) for other in known if other.rpartition("/")[0] == place
        )
    above, _, folder = place.rpartition("/")
    if begun := _BEGUN_IMAGE.fullmatch(folder):
        return any(other.startswith(f"{above}/{begun[1]}/") for other in known)
    return False


def _unwritable(directory: Path, error: OSError) -> Problem:
    return Problem(
        f"{directory} cannot be used: {error.strerror}.",
        "a directory that this user may write to.",
        "correct kubeflow_bundle, or the permissions of the directory.",
    )
