"""Reads manifests from files and from standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.problems import InvalidInput, Problem
from validators.explain.manifest.model import Manifest

__all__ = ["STDIN", "read"]

STDIN = "-"
_TODO = "correct the file."


def read(files: Sequence[str], namespace: str) -> tuple[Manifest, ...]:
    """Every object of the files, in their order; `namespace` is where those go that name none. `-` is standard input.

    Raises:
        InvalidInput: a file cannot be read, is no YAML, or holds something else than objects of Kubernetes.
    """
    problems: list[Problem] = []
    found: list[Manifest] = []
    for file in files:
        try:
            documents = strict_yaml.parse(_text(file), file)
        except InvalidInput as error:
            problems += error.problems
            continue
        for number, document in enumerate(documents, start=1):
            for obj in _objects(document):
                if wrong := _fault(obj):
                    place = f"{file}, document {number}"
                    problems.append(Problem(f"{place}: {wrong}.", "an object with apiVersion, kind and name.", _TODO))
                else:
                    found.append(Manifest(file, number, obj, namespace))
    if problems:
        raise InvalidInput(problems)
    if not found:
        names = ", ".join(files)
        raise InvalidInput(Problem(f"no object in {names}.", "at least one manifest.", "name the file of a job."))
    return tuple(found)


def _text(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        found = f"{file} cannot be read: {error.strerror}."
        raise InvalidInput(Problem(found, "a file with manifests, or - for standard input.", "correct it.")) from error


def _objects(document: Any) -> Iterator[Any]:
    """The document, or the items of a List."""
    if isinstance(document, dict) and str(document.get("kind", "")) == "List":
        yield from document.get("items") or ()
    else:
        yield document


def _fault(obj: Any) -> str:
    """Why it is no object of Kubernetes; empty where it is one."""
    if not isinstance(obj, dict):
        return "it is no mapping"
    for key in ("apiVersion", "kind"):
        if not isinstance(obj.get(key), str) or not obj[key]:
            return f"it has no {key}"
    meta = obj.get("metadata")
    if isinstance(meta, dict) and not isinstance(meta.get("namespace") or "", str):
        return f"metadata.namespace of its {obj['kind']} is no text"
    if not isinstance(meta, dict) or not isinstance(meta.get("name") or meta.get("generateName"), str):
        return f"its {obj['kind']} has no metadata.name"
    return ""
