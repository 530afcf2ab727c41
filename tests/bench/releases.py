"""The releases that are measured: their sources, made ready for every contestant."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.bench.measure import measure
from tests.unpacking import unpack

GENERATIONS: Mapping[str, str] = {"1.9.1": "1.30", "1.6.1": "1.22"}
"""On which generation of the rehearsal cluster each release is measured."""

PLACEHOLDERS = "/^ *caBundle: Cg==$/d"
"""A sed script for every contestant: the API server takes a placeholder for an authority, and no injector runs here."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release's unpacked manifests, and what `kustomize build example` makes of them, as YAML and as JSON.

    `variables` is the same as inventory variables, `environment` gives the project a cache of its own.
    """

    version: str
    example: Path
    yaml: Path
    json: Path
    namespaces: tuple[str, ...]
    variables: Path
    environment: Mapping[str, str]


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
        unpack(packed, directory)
    example = next(directory.glob("*/example"))
    build = subprocess.run([kustomize, "build", example], check=True, capture_output=True)
    text = subprocess.run(["sed", PLACEHOLDERS], input=build.stdout, check=True, capture_output=True).stdout
    objects = [obj for obj in foreign.parse(text, str(example)) if obj]
    (directory / "render.yaml").write_bytes(text)
    (directory / "render.json").write_text(json.dumps(objects))
    variables = directory / "variables.json"
    variables.write_text(json.dumps(_variables(version, archive, kustomize)))
    environment = {"XDG_CACHE_HOME": str(directory / "cache")}
    fill_cache = [sys.executable, "-m", "tests.bench.rendering", str(variables)]
    measure(fill_cache, directory / "sources.log", environment=environment)
    return Release(
        version=version,
        example=example,
        yaml=directory / "render.yaml",
        json=directory / "render.json",
        namespaces=tuple(sorted(_namespaces(objects))),
        variables=variables,
        environment=environment,
    )


def example_of(variables: Path) -> tuple[Settings, tuple[Component, ...]]:
    """The settings that these variables are, and those of their components that stand in upstream's example."""
    settings = parse(json.loads(variables.read_bytes()))
    return settings, tuple(
        part for part in settings.components if part.name in settings.release.components and part.example
    )


def _variables(version: str, archive: Path, kustomize: Path) -> dict[str, object]:
    return {
        "kubeflow_release": version,
        "kubeflow_profile": "full",
        "kubeflow_source": str(archive),
        "kustomize_binary": str(kustomize),
        "gang_scheduling_scheduler": "none",
        "local_path_storage_mode": "existing",
        "image_mirror_allow_gone": True,  # nothing is pulled here
    }


def _namespaces(objects: list[Object]) -> set[str]:
    return {obj["metadata"]["namespace"] for obj in objects if obj["kind"] == "Service"}
