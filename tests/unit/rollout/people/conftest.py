"""Upstream's manifests of sign-in and profiles, rendered from the releases' archives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.manifests.sources import Sources
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.archives import needed_archive

COMPONENTS = ("dex", "oauth2-proxy", "oidc-authservice", "profiles", "user-namespace")


class Upstream(NamedTuple):
    """A release and its unpatched objects, by component."""

    release: str
    parts: Mapping[str, tuple[Object, ...]]

    def settings(self, **variables: Any) -> Settings:
        return parse({"kubeflow_release": self.release, "kubeflow_profile": "full", **variables})

    def patched(self, settings: Settings) -> dict[str, tuple[Object, ...]]:
        return {name: patched(objects, name, settings) for name, objects in self.parts.items()}


@pytest.fixture(scope="session", params=read.releases())
def upstream(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """Each release whose archive is at hand."""
    release: str = request.param
    archive = needed_archive(release)
    settings = parse({"kubeflow_release": release, "kubeflow_profile": "full", "kubeflow_source": str(archive)})
    old = settings.release.kustomize_version.startswith("3.")
    kustomize: Path = request.getfixturevalue("kustomize_3" if old else "kustomize")
    cache = tmp_path_factory.mktemp("cache")
    opened = Sources(replace(settings, kustomize=kustomize, own_kustomize=True, cache_directory=cache), silent)
    places = {part.name: opened.place(part) for part in settings.components if part.name in COMPONENTS}
    parts = Renderer(kustomize, cache, silent).render(places)
    return Upstream(release, {name: tuple(objects) for name, objects in parts.items()})
