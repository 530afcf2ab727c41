"""A backup as files: one of YAML for each kind, and a manifest with their sums. Only their owner can read them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match

from kubeflow_volcano import foreign
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.decode import DecodeError, decode
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, NotWritten, Problem, collecting
from kubeflow_volcano.ref import group_of
from kubeflow_volcano.text import few

MANIFEST = "manifest.json"
_SCHEMA = "kfv.backup/v1"
_SECRET = 0o600
_MOST_TEXT = 200
_PIECE = 16 << 20
"""Bytes that are parsed together: what is read has a limit, and the number of objects of a kind has none."""
_BETWEEN = b"\n---\n"
_TEXTS = {"type": ["object", "null"], "additionalProperties": {"type": "string"}}
_LABEL = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_OBJECT = Draft202012Validator(
    {
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": {"type": "string", "pattern": rf"^({_LABEL}(\.{_LABEL})*/)?{_LABEL}$"},
            "kind": {"type": "string", "pattern": "^[A-Z][A-Za-z0-9]*$", "not": {"pattern": "List$"}},
            "metadata": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "pattern": r"^(?!\.\.?$)[^/%?#\s]+$"},
                    "namespace": {"type": "string", "pattern": f"^{_LABEL}$"},
                    "labels": _TEXTS,
                    "annotations": _TEXTS,
                    "ownerReferences": {
                        "type": ["array", "null"],
                        "items": {"type": "object", "required": ["uid"], "properties": {"uid": {"type": "string"}}},
                    },
                },
            },
            "spec": {"type": ["object", "null"]},
            "data": {"type": ["object", "null"]},
            "status": {"type": ["object", "null"]},
        },
    }
)
"""What the code here reads of an object, and what may be part of an address; the API server judges the rest."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a backup comes from. `created` is UTC in ISO 8601; `versions` has those of components.

    `left_out` counts objects by the reason why they were left out; `volumes` are claims as namespace/name, whose
    content is in no backup. `unread` are CRDs whose objects could not be listed and are missing, with the reason.
    """

    created: str
    kubernetes: str
    versions: Mapping[str, str]
    left_out: Mapping[str, int]
    volumes: tuple[str, ...]
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Backup:
    """The saved objects, as they were read, without managedFields."""

    origin: Origin
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class _Files:
    files: Mapping[str, str]


def write(directory: Path, backup: Backup) -> Path:
    """Write a new directory below `directory`, which is complete when it appears; returns it.

    Raises:
        NotWritten: it cannot be written.
    """
    place = directory / backup.origin.created.replace("-", "").replace(":", "")
    files = {name: _text(objects) for name, objects in _by_file(backup.objects).items()}
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    manifest = {"schema": _SCHEMA, **asdict(backup.origin), "files": sums}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=directory))  # for its owner alone
        try:
            for name, text in {**files, MANIFEST: json.dumps(manifest, indent=2) + "\n"}.items():
                write_file(unfinished / name, text, _SECRET)
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    except OSError as error:
        raise NotWritten.problem(
            f"the backup cannot be written to {directory}: {error.strerror}.",
            "a directory with room that may be written.",
            "free some room, or set backup_directory to another directory.",
        ) from error
    return place


def read(place: Path, *, accept_changed: bool = False) -> Backup:
    """Read a backup; with `accept_changed` also one whose files were edited.

    Raises:
        InvalidInput: it is no backup, or a file is missing, was changed or cannot be parsed.
    """
    try:
        document = read_json(_content(place / MANIFEST).decode())
        if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
            raise DecodeError(f"schema is not {_SCHEMA}")
        origin = decode(Origin, document, "manifest")
        sums = decode(_Files, document, "manifest").files
    except OSError as error:
        raise InvalidInput(_no_backup(place, str(error.strerror))) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(_no_backup(place, str(error))) from error
    problems: list[Problem] = []
    objects: list[Object] = []
    for name, expected in sums.items():
        try:
            data = _content(place / Path(name).name)
        except (OSError, ValueError) as error:  # ValueError: the name is none of a file
            why = error.strerror if isinstance(error, OSError) else error
            problems.append(_damaged(place / name, f"cannot be read: {why}", "copy it from where it is whole."))
            continue
        if hashlib.sha256(data).hexdigest() != expected and not accept_changed:
            todo = "restore it from a copy; if it was edited on purpose, set restore_accept_changed: true."
            problems.append(_damaged(place / name, "is not as it was written", todo))
            continue
        with collecting(problems):
            objects += _objects(data, place / name)
    if problems:
        raise InvalidInput(problems)
    return Backup(origin, tuple(objects))


def _content(path: Path) -> bytes:
    """The bytes of a file; raises OSError, also for what is no file: a pipe would be waited for without end."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return file.read()


def _objects(data: bytes, path: Path) -> list[Object]:
    """The objects in a file; raises InvalidInput with everything in it that is none."""
    objects = [obj for piece in _pieces(data) for obj in foreign.parse(piece, str(path), foreign.DumpedLoader)]
    faults = [(number, best_match(_OBJECT.iter_errors(item))) for number, item in enumerate(objects, start=1)]
    if problems := [_malformed(path, number, fault) for number, fault in faults if fault]:
        raise InvalidInput(problems)
    return objects


def _pieces(data: bytes) -> Iterator[bytes]:
    """The documents, several together; a line with three dashes is inside none, because mappings are indented."""
    start = 0
    while len(data) - start > _PIECE:
        end = data.rfind(_BETWEEN, start, start + _PIECE)
        end = data.find(_BETWEEN, start + _PIECE) if end < 0 else end
        if end < 0:
            break
        yield data[start : end + 1]
        start = end + 1
    yield data[start:]


def _malformed(path: Path, number: int, fault: ValidationError) -> Problem:
    where = ".".join(map(str, fault.absolute_path)) or "the document"
    text = fault.message if len(fault.message) <= _MOST_TEXT else f"is not {fault.validator} {fault.validator_value}"
    return Problem(
        f"{path}, document {number}, is no object of a backup: {where}: {text}.",
        "objects of Kubernetes as playbooks/backup.yml writes them, each a document of its own.",
        "restore the file from a copy, or correct it and set restore_accept_changed: true.",
    )


def _by_file(objects: Iterable[Object]) -> Mapping[str, Sequence[Object]]:
    by_file: dict[str, list[Object]] = defaultdict(list)
    for obj in objects:
        by_file[f"{obj['kind'].lower()}.{group_of(obj['apiVersion']) or 'core'}.yaml"].append(obj)
    return by_file


def _text(objects: Sequence[Object]) -> str:
    return yaml.dump_all(objects, Dumper=foreign.Dumper, sort_keys=True, allow_unicode=True, explicit_start=True)


def _no_backup(place: Path, why: str) -> Problem:
    inside = [str(path.parent) for pattern in ("[0-9]*", "*/[0-9]*") for path in place.glob(f"{pattern}/{MANIFEST}")]
    named = f"one of: {few(sorted(inside, reverse=True))}" if inside else "a backup"
    return Problem(
        f"{place} is no backup: {why}.",
        f"a directory that playbooks/backup.yml wrote, with {MANIFEST}.",
        f"set restore_directory to {named}.",
    )


def _damaged(path: Path, what: str, todo: str) -> Problem:
    return Problem(f"{path} {what}.", "every file of the backup, with the sum in its manifest.", todo)
