"""The files of a node's configuration: containerd's order, and the files that have to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.hosts.containerd.config import ConfigFile, load_order, parse_file
from kubeflow_volcano.hosts.containerd.edit import edited
from kubeflow_volcano.hosts.containerd.look import Look
from kubeflow_volcano.problems import InvalidInput, Problem, collecting

NEWER = (2, 0)
"""From this release on containerd merges the tables of several files, and has two tables for CRI."""

_READS_OLDEST = (2, 3)
"""From 2.0 up to this release containerd ignores the tables of version 1 files: 2.0.14, 2.1.9, 2.2.9; not 2.3.7."""

_NEW_FILE, _NEW_FILE_OLDER = 3, 2
"""Version of a new file of containerd 2; containerd 1 reads none above 2."""


def loaded_files(look: Look) -> tuple[ConfigFile, ...]:
    """The files in containerd's order; a main file that does not exist is assumed to have a version only.

    Raises:
        InvalidInput: all files that are not TOML.
    """
    files = read_files(look)
    assumed = f"version = {_NEW_FILE if look.release >= NEWER else _NEW_FILE_OLDER}\n"
    main = files.get(look.config) or parse_file(look.config, assumed.encode())
    return load_order(main, files, look.matching)


def read_files(look: Look) -> dict[str, ConfigFile]:
    """The files that exist, by path.

    Raises:
        InvalidInput: all files that are not TOML.
    """
    problems: list[Problem] = []
    files: dict[str, ConfigFile] = {}
    for path, content in look.files.items():
        with collecting(problems):
            files[path] = parse_file(path, content)
    if problems:
        raise InvalidInput(problems)
    return files


def changed_files(look: Look, directory: str, *, moves: bool) -> Mapping[str, ConfigFile]:
    """The files of the configuration that change, with their new content.

    Raises:
        InvalidInput: containerd ignores the table that has to change, or it cannot be edited in place.
    """
    files = loaded_files(look)
    if look.release >= NEWER:  # tables of later files are merged into those of earlier ones
        given = [file for file in files if "config_path" in file.registry]
        target = given[-1] if given else files[0]
    else:  # the table of the last file that has it counts alone
        target = next((file for file in reversed(files) if file.table is not None), files[0])
    if ignored := [*_ignored(target, look)]:
        raise InvalidInput(ignored)
    found: dict[str, ConfigFile] = {}
    for file in files:
        if file == target or (moves and look.release >= NEWER):
            text = edited(file, directory if file == target else None, without_legacy=moves)
            if text != file.text or file.path not in look.files:
                found[file.path] = parse_file(file.path, text.encode())
    return found


def _ignored(file: ConfigFile, look: Look) -> Iterator[Problem]:
    """Tables that containerd ignores because of the file's version."""
    said = f"version = {file.version}" if file.version else "no version"
    if file.version < 2 and NEWER <= look.release < _READS_OLDEST:  # noqa: PLR2004
        yield Problem(
            f"{file.path} has {said}, and containerd {look.version} ignores the CRI tables of such a file.",
            'a file of version 2 or 3, in which the tables are named [plugins."io.containerd...."].',
            "write a new file from the output of `containerd config default`, and run this again.",
        )
    elif file.ignored_tables:
        yield Problem(
            f"{file.path} has {said} and the tables {', '.join(file.ignored_tables)}, which containerd ignores in such "
            "a file.",
            "tables with the names of that version.",
            "correct the version or the names, check that containerd runs with them, and run this again.",
        )
