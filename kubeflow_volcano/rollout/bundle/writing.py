"""A bundle that is made, or continued: files appear whole, and are listed when they are there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.files import replacing, write_file
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

__all__ = ["Writer"]


class Writer:
    """The bundle below `directory`, which has the given contents when it is complete.

    With `check` nothing is written.
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
            InvalidInput: the directory has other files, or cannot be written.
            Busy: another process is writing into it.
        """
        found = _begun(directory)
        writer = cls(directory, replace(header, complete=False, files=found), progress, check=check)
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
            raise Busy(
                Problem(
                    f"another process is writing into {directory}.", "one process at a time.", "wait until it ends."
                )
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
        return same_as is None or self._summing.of(same_as)[1] == entry.sha256

    def put(self, path: str, source: str, file: Path) -> None:
        """Copy a file into the bundle, and list it.

        Raises:
            OSError: it cannot be copied.
        """
        self.save()  # so that a directory with files of a bundle is known for one
        with replacing(self.directory / path) as target:
            size, total = self._summing.of(file, target)
        self._files[path] = Entry(path, size, total, source)
        self.save()

    def adopt(self, path: str, source: str) -> None:
        """List a file that was written into the bundle by another program; `save` comes after the last of them."""
        size, total = self._summing.of(self.directory / path)
        self._files[path] = Entry(path, size, total, source)

    def keep_only(self, wanted: Collection[str]) -> None:
        """Remove what is listed and not wanted any more, and what interrupted runs have left.

        Raises:
            InvalidInput: there are files in the folders of the bundle that it never listed.
        """
        for path in [path for path in self._files if path not in wanted]:
            del self._files[path]
            (self.directory / path).unlink(missing_ok=True)
        self.save()
        for folder in FOLDERS:
            _remove_remains(self.directory / folder)
        if foreign := sorted(unlisted(self.directory, self._files)):
            raise InvalidInput(
                Problem(
                    f"{self.directory} has files that are not of the bundle: {few(foreign)}.",
                    f"no other files in {', '.join(FOLDERS)}.",
                    "move them elsewhere, and run playbooks/bundle.yml again.",
                )
            )

    def finish(self) -> Contents:
        """Declare the bundle complete; returns its contents."""
        self._contents = replace(self._contents, complete=True)
        contents = self.save()
        listed = [(entry.sha256, entry.path) for entry in contents.files]
        listed.append((self._summing.of(self.directory / CONTENTS)[1], CONTENTS))
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
            raise InvalidInput(
                Problem(
                    f"{directory} has {few(taken)}, and no {CONTENTS}.",
                    "an empty directory, or a bundle that was begun.",
                    "set kubeflow_bundle to another directory, or move these away.",
                )
            )
        return ()
    try:
        return load(directory).files
    except OtherFormat:
        raise
    except InvalidInput:
        return ()


def _remove_remains(folder: Path) -> None:
    """Hidden files and directories, which no bundle has: begun by runs that were killed."""
    for place, folders, names in os.walk(folder):
        for name in [name for name in folders if name.startswith(".")]:
            shutil.rmtree(Path(place, name))
            folders.remove(name)
        for name in names:
            if name.startswith("."):
                Path(place, name).unlink()
    for place, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # not empty
            Path(place).rmdir()


def _unwritable(directory: Path, error: OSError) -> Problem:
    return Problem(
        f"{directory} cannot be used: {error.strerror}.",
        "a directory that this user may write to.",
        "correct kubeflow_bundle, or the permissions of the directory.",
    )
