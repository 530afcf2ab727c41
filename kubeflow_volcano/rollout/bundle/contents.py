"""bundle.json: path, size, sha256 and source of every file of a bundle, in one spelling, so that any change shows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kubeflow_volcano.decode import DecodeError, Limits, decode
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, Problem

CONTENTS = "bundle.json"
SUMS = "SHA256SUMS"
"""The same sums for sha256sum, which verifies a bundle before anything of it is installed."""
IMAGES = "images"
CATALOG = "catalog"
FOLDERS = (CATALOG, IMAGES, "kustomize", "manifests", "wheels")
"""What may be at the top of a bundle. Other files beside them, such as notes of people, are left alone."""

_FORMAT = "kfv.bundle/v1"
_FAMILY = re.compile(r"kfv\.bundle/v\d+")
_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:+!@~-]*")
"""One element of a path: no hidden file, no parent directory."""
_SUM = re.compile(r"[0-9a-f]{64}")
_SOURCE_SUM = re.compile(r"#sha256=([0-9a-f]{64})$")
_LIMITS = Limits(text=4096, items=1_000_000)


class OtherFormat(InvalidInput):
    """A bundle of another version of the format."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One file: `path` below the bundle with slashes, `size` in bytes, and where it comes from."""

    path: str
    size: int
    sha256: str
    source: str


@dataclass(frozen=True, slots=True)
class Contents:
    """All files, sorted by path. `version` is the project's, `release` Kubeflow's, `python` that of the wheels.

    A bundle that is not `complete` is continued by the playbook that makes it, and not installed from.
    """

    version: str
    release: str
    architectures: tuple[str, ...]
    python: str
    complete: bool
    files: tuple[Entry, ...]


def text_of(contents: Contents) -> str:
    """The text of bundle.json; it has a sum of its own."""
    data = {"format": _FORMAT, **asdict(contents)}
    return _spelled({**data, "sha256": hashlib.sha256(_spelled(data).encode()).hexdigest()})


def load(directory: Path) -> Contents:
    """The contents of a bundle, complete or not.

    Raises:
        InvalidInput: there is no bundle.json, it was changed, has another format, or names a file that cannot be one
            of a bundle, such as one outside of it.
    """
    place = directory / CONTENTS
    try:
        text = place.read_text("utf-8")
        data = read_json(text)
    except OSError as error:
        raise InvalidInput(_no_bundle(directory, f"{CONTENTS}: {error.strerror}")) from error
    except ValueError as error:
        raise InvalidInput(_changed(place, "it is not JSON")) from error
    if not isinstance(data, dict) or not _FAMILY.fullmatch(str(data.get("format"))):
        raise InvalidInput(_changed(place, f"its format is not {_FORMAT}"))
    if data["format"] != _FORMAT:
        raise OtherFormat.problem(
            f"{place} has the format {data['format']}.",
            f"a bundle of the format {_FORMAT}, which this version reads.",
            "use the version of kubeflow-volcano that is in the bundle, or make the bundle again with this one.",
        )
    try:
        contents = decode(Contents, data, CONTENTS, _LIMITS)
    except DecodeError as error:
        raise InvalidInput(_changed(place, str(error))) from error
    if text != text_of(contents):
        raise InvalidInput(_changed(place, "its content does not have the sum that it names"))
    if problems := tuple(_invalid_entries(place, contents)):
        raise InvalidInput(problems)
    return contents


def refetch(path: Path | str) -> str:
    """What to do about a file that is missing or damaged."""
    return (
        f"copy {path} again from where the bundle was made, or run playbooks/bundle.yml there again, "
        "which fetches only what is missing or wrong."
    )


def _spelled(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"


def _invalid_entries(place: Path, contents: Contents) -> Iterator[Problem]:
    seen: set[str] = set()
    for entry in contents.files:
        folder, *steps = entry.path.split("/")
        why = ""
        if folder not in FOLDERS or not steps:
            why = f"is not below one of {', '.join(FOLDERS)}"
        elif not all(map(_STEP.fullmatch, steps)):
            why = "leads out of the bundle, or has a name that no file of a bundle has"
        elif entry.path in seen:
            why = "is listed twice"
        elif not _SUM.fullmatch(entry.sha256) or entry.size < 0:
            why = "has no size and sum"
        elif (named := _SOURCE_SUM.search(entry.source)) and named[1] != entry.sha256:
            why = f"is not what its source names: its sha256 is {entry.sha256}, and its source is {entry.source}"
        seen.add(entry.path)
        if why:
            yield Problem(
                f"{place} lists {entry.path!r}, which {why}.",
                "files of a bundle that playbooks/bundle.yml made.",
                "use the bundle as it was made; do not use this one if you do not know who changed it.",
            )


def _no_bundle(directory: Path, why: str) -> Problem:
    return Problem(
        f"{directory} is no bundle: {why}.",
        "a directory that playbooks/bundle.yml has filled, on the machine that runs Ansible.",
        "correct kubeflow_bundle, or fill the directory: playbooks/bundle.yml, where its sources can be reached.",
    )


def _changed(place: Path, why: str) -> Problem:
    return Problem(
        f"{place} was changed or damaged: {why}.", "the file as playbooks/bundle.yml wrote it.", refetch(place)
    )
