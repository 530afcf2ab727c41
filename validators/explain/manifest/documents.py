"""Reads manifests from files and from standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kubeflow_volcano import foreign
from kubeflow_volcano.problems import InvalidInput, Problem, collecting
from kubeflow_volcano.validators.explain.manifest.model import Manifest
from kubeflow_volcano.validators.explain.manifest.rules.placeholders import placeholder, template_mark
from kubeflow_volcano.validators.explain.manifest.templates import Path as Steps

STDIN = "-"
_TODO = "correct the file."


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its text, and the objects in it. `origin` is its name, `-` for standard input."""

    origin: str
    text: str
    manifests: tuple[Manifest, ...]


def read(files: Sequence[str], namespace: str) -> tuple[Source, ...]:
    """Every object of the files, in their order; `namespace` is where those go that name none. `-` is standard input.

    Raises:
        InvalidInput: a file cannot be read, is no YAML, or holds something else than objects of Kubernetes.
    """
    problems: list[Problem] = []
    sources: list[Source] = []
    for file in files:
        with collecting(problems):
            sources.append(parse(file, _text(file), namespace))
    if problems:
        raise InvalidInput(problems)
    if not any(source.manifests for source in sources):
        names = ", ".join(files)
        raise InvalidInput.problem(f"no object in {names}.", "at least one manifest.", "name the file of a job.")
    return tuple(sources)


def parse(origin: str, text: str, namespace: str) -> Source:
    """The objects in the text of a file.

    Raises:
        InvalidInput: it is no YAML, or holds something else than objects of Kubernetes.
    """
    problems: list[Problem] = []
    manifests: list[Manifest] = []
    for number, document in enumerate(_parsed(text, origin), start=1):
        for at, obj in _objects(document):
            if wrong := _fault(obj):
                place = f"{origin}, document {number}"
                problems.append(Problem(f"{place}: {wrong}.", "an object with apiVersion, kind and name.", _TODO))
            else:
                manifests.append(Manifest(origin, number, obj, namespace, at))
    if problems:
        raise InvalidInput(problems)
    return Source(origin, text, tuple(manifests))


def _parsed(text: str, origin: str) -> list[Any]:
    try:
        return foreign.parse(text, origin)
    except InvalidInput as error:
        if mark := template_mark(text):
            todo = f"{mark} is a placeholder of a template: write the value in its place, or render the template first."
            raise InvalidInput([replace(item, todo=todo) for item in error.problems]) from error
        raise


def _text(file: str) -> str:
    try:
        return (sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        found = f"{file} cannot be read: {why}."
        raise InvalidInput.problem(found, "a file with manifests, or - for standard input.", "correct it.") from error


def _objects(document: Any) -> Iterator[tuple[Steps, Any]]:
    """The document, or the items of a List, each with its path in the document."""
    if isinstance(document, dict) and str(document.get("kind", "")) == "List":
        yield from ((("items", index), item) for index, item in enumerate(document.get("items") or ()))
    else:
        yield (), document


def _fault(obj: Any) -> str:
    """Why it is no object of Kubernetes; empty where it is one."""
    if not isinstance(obj, dict):
        return "it is no mapping"
    for key in ("apiVersion", "kind"):
        if not isinstance(obj.get(key), str) or not obj[key]:
            return f"it has no {key}"
    meta = obj.get("metadata")
    if isinstance(meta, dict) and (text := placeholder(meta.get("name")) or placeholder(meta.get("namespace"))):
        return f"its {obj['kind']} has the placeholder {text} in place of a name"
    if isinstance(meta, dict) and not isinstance(meta.get("namespace") or "", str):
        return f"metadata.namespace of its {obj['kind']} is no text"
    if not isinstance(meta, dict) or not isinstance(meta.get("name") or meta.get("generateName"), str):
        return f"its {obj['kind']} has no metadata.name"
    return ""
