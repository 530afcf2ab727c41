"""A bundle to install from: each of its files has its sum when it is handed out."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.bundle.contents import CONTENTS, FOLDERS, Contents, Entry, load, refetch
from kubeflow_volcano.rollout.bundle.sums import Summing
from kubeflow_volcano.text import few


class Bundle:
    """A complete bundle below `directory`."""

    def __init__(self, directory: Path, contents: Contents, progress: Progress = silent) -> None:
        self.directory = directory
        self.contents = contents
        self._summing = Summing(progress)

    @classmethod
    def open(cls, directory: Path, progress: Progress = silent) -> Bundle:
        """The bundle in a directory. Its files are verified when they are used.

        Raises:
            InvalidInput: it is no bundle, not complete, or has files that it does not list.
        """
        contents = load(directory)
        if not contents.complete:
            raise InvalidInput.problem(
                f"the bundle {directory} is not complete.",
                "a bundle with every file of the installation.",
                "run playbooks/bundle.yml again where it was made: it goes on where it ended.",
            )
        foreign = sorted(unlisted(directory, {entry.path for entry in contents.files}))
        if foreign:
            raise InvalidInput.problem(
                f"the bundle {directory} has files that {CONTENTS} does not list: {few(foreign)}.",
                "the files that playbooks/bundle.yml wrote, and no others.",
                "remove these files, or copy the bundle again.",
            )
        return cls(directory, contents, progress)

    def file(self, source: str) -> Path | None:
        """The file that comes from `source`, verified; None if the bundle has none.

        Raises:
            InvalidInput: it is missing or damaged.
        """
        match = next((entry for entry in self.contents.files if entry.source == source), None)
        if match is None:
            return None
        self._require([match])
        return self.directory / match.path

    def verify(self, folder: str = "") -> None:
        """Verify all files below a folder, such as images/docker.io; all files of the bundle without one.

        Raises:
            InvalidInput: some are missing or damaged; all of them are named.
        """
        self._require(entry for entry in self.contents.files if entry.path.startswith(f"{folder}/" if folder else ""))

    def _require(self, entries: Iterable[Entry]) -> None:
        problems = [
            Problem(
                f"{self.directory / entry.path} {why}.",
                f"{entry.size} bytes with sha256 {entry.sha256}.",
                refetch(entry.path),
            )
            for entry in entries
            if (why := damage(self.directory, entry, self._summing))
        ]
        if problems:
            raise InvalidInput(problems)


def damage(directory: Path, entry: Entry, summing: Summing) -> str:
    """What is wrong with a file, as the rest of a sentence; empty if it has its size and sum."""
    place = directory / entry.path
    try:
        status = place.lstat()
        if not stat.S_ISREG(status.st_mode):
            return "is no regular file"
        if status.st_size != entry.size:
            return f"has {status.st_size} bytes"
        total = summing.measure(place)[1]
    except OSError as error:
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    return "" if total == entry.sha256 else f"has sha256 {total}"


def unlisted(directory: Path, listed: Collection[str]) -> Iterator[str]:
    """Paths of the files in a bundle's folders that are not among those `listed`."""
    for folder in FOLDERS:
        for place, folders, names in os.walk(directory / folder):
            links = [name for name in folders if Path(place, name).is_symlink()]
            for name in (*names, *links):
                path = Path(place, name).relative_to(directory).as_posix()
                if path not in listed:
                    yield path
