"""The data files of the catalog: `<name>.yaml` beside this module, checked against `schemas/<name>.json`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["FOLDERS", "HOME", "load", "versions"]

HOME = Path(str(files("kubeflow_volcano.catalog")))
"""The directory of the data files."""

FOLDERS = {
    "releases": "release",
    "local_path": "component",
    "scheduler_plugins": "component",
    "symptoms": "symptom",
    "volcano": "component",
}
"""Folders with one file per version or topic; all files of a folder have the same schema."""


@cache
def versions(folder: str) -> tuple[str, ...]:
    """The versions that have a file in `folder`, oldest first."""
    return tuple(sorted((path.stem for path in (HOME / folder).glob("*.yaml")), key=version_key))


@cache
def load(name: str) -> Any:
    """What `<name>.yaml` holds. It is read once per process and shared: do not change it.

    Raises:
        InvalidInput: the file breaks its schema; the message has every error.
    """
    data = foreign.parse((HOME / f"{name}.yaml").read_bytes(), f"catalog/{name}.yaml")[0]
    schema = FOLDERS.get(name.partition("/")[0], name)
    errors = sorted(_validator(schema).iter_errors(data), key=lambda error: error.json_path)
    if errors:
        raise InvalidInput(
            Problem(
                f"catalog/{name}.yaml: {error.json_path}: {error.message}.",
                f"data that fits catalog/schemas/{schema}.json.",
                "correct the data file.",
            )
            for error in errors
        )
    return data


@cache
def _validator(schema: str) -> Draft202012Validator:
    texts = {name: read_json((HOME / f"schemas/{name}.json").read_text("utf-8")) for name in ("component", schema)}
    registry: Registry[Any] = Registry().with_resources(
        (f"{name}.json", Resource.from_contents(text)) for name, text in texts.items()
    )
    return Draft202012Validator(texts[schema], registry=registry)
