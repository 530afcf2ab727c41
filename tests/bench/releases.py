"""The releases that are measured: their sources, made ready for every contestant."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["GENERATIONS", "Release", "prepare"]

GENERATIONS: Mapping[str, str] = {"1.9.1": "1.30", "1.6.1": "1.22"}
"""On which generation of the rehearsal cluster each release is measured."""

PLACEHOLDERS = "/^ *caBundle: Cg==$/d"
"""A sed script for every contestant: the API server takes a placeholder for an authority, and no injector runs here."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release's unpacked manifests, and what `kustomize build example` makes of them, as YAML and as JSON."""

    version: str
    example: Path
    yaml: Path
    json: Path
    namespaces: tuple[str, ...]


def prepare(version: str, archives: Path, kustomize: Path, directory: Path) -> Release:
    """Unpack and render a release below `directory`.

    Raises:
        InvalidInput: its archive is not there.
    """
    archive = archives / f"manifests-{version}.tar.gz"
    if not archive.is_file():
        raise InvalidInput(
            Problem(f"no {archive}.", f"the manifests of Kubeflow {version}.", "name its directory with --archives.")
        )
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as packed:
        packed.extractall(directory, filter="data")
    example = next(directory.glob("*/example"))
    build = subprocess.run([kustomize, "build", example], check=True, capture_output=True)
    text = subprocess.run(["sed", PLACEHOLDERS], input=build.stdout, check=True, capture_output=True).stdout
    objects = [obj for obj in strict_yaml.parse(text, str(example)) if obj]
    (directory / "render.yaml").write_bytes(text)
    (directory / "render.json").write_text(json.dumps(objects))
    return Release(
        version, example, directory / "render.yaml", directory / "render.json", tuple(sorted(_namespaces(objects)))
    )


def _namespaces(objects: list[Object]) -> set[str]:
    return {obj["metadata"]["namespace"] for obj in objects if obj["kind"] == "Service"}
