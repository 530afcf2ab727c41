"""The files of a node's configuration: in containerd's order, and those of them that have to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.hosts.containerd.config import ConfigFile, loaded, read
from kubeflow_volcano.hosts.containerd.edit import changed
from kubeflow_volcano.hosts.containerd.look import Look
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["NEWER", "changed_files", "loaded_files", "read_files"]

NEWER = (2, 0)
"""Releases that merge the tables of several files, and split that of CRI."""

_READS_OLDEST = (2, 3)
"""From 2.0 up to this release, files of version 1 lose their tables: so do 2.0.14, 2.1.9 and 2.2.9, but not 2.3.7."""

_NEW_FILE = {False: 2, True: 3}
"""Version of a file that is made anew: containerd 1 reads none above 2, and 3 is the first of containerd 2."""


def loaded_files(look: Look) -> tuple[ConfigFile, ...]:
    """The files in containerd's order; the main one is made up where there is none.

    Raises:
        InvalidInput: all that are no TOML.
    """
    files = read_files(look)
    made_up = f"version = {_NEW_FILE[look.release >= NEWER]}\n"
    main = files.get(look.config) or read(look.config, made_up.encode())
    return loaded(main, files, look.matching)


def read_files(look: Look) -> dict[str, ConfigFile]:
    """The files that there are, by path.

    Raises:
        InvalidInput: all that are no TOML.
    """
    problems: list[Problem] = []
    found: dict[str, ConfigFile] = {}
    for path, content in look.files.items():
        try:
            found[path] = read(path, content)
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    return found


def changed_files(look: Look, directory: str, *, moves: bool) -> Mapping[str, ConfigFile]:
    """The files of the configuration that change, as they are to be.

    Raises:
        InvalidInput: containerd passes over the table that is to change, or it cannot be changed in its place.
    """
    files = loaded_files(look)
    if look.release >= NEWER:  # tables of later files are merged into those of earlier ones
        given = [file for file in files if "config_path" in file.registry]
        target = given[-1] if given else files[0]
    else:  # the last file with the table has it alone
        target = next((file for file in reversed(files) if file.table is not None), files[0])
    unread = [*_unread(target, look)]
    if unread:
        raise InvalidInput(unread)
    found: dict[str, ConfigFile] = {}
    for file in files:
        if file == target or (moves and look.release >= NEWER):
            text = changed(file, directory if file == target else None, moved=moves)
            if text != file.text or file.path not in look.files:
                found[file.path] = read(file.path, text.encode())
    return found


def _unread(file: ConfigFile, look: Look) -> Iterator[Problem]:
    """Tables that containerd passes over because of the file's version."""
    said = f"version = {file.version}" if file.version else "no version"
    if file.version < 2 and NEWER <= look.release < _READS_OLDEST:  # noqa: PLR2004
        yield Problem(
            f"{file.path} says {said}, and containerd {look.version} passes over the CRI tables of such a file.",
            'a file of version 2 or 3, in which the tables are named [plugins."io.containerd...."].',
            "write it anew from what containerd config default prints, and run this again.",
        )
    elif file.strange_tables:
        yield Problem(
            f"{file.path} says {said}, and has the tables {', '.join(file.strange_tables)}, which containerd passes "
            "over in such a file.",
            "tables named as the version says, all of which a restart would put into use.",
            "correct the version or the names, see that containerd runs with them, and run this again.",
        )
