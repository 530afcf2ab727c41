"""Whole releases of upstream, rendered once for all tests of a process.

What kustomize builds is kept in the user's own cache, which knows it by content: the next run only reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import render_upstream
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.archives import REMOTE_BASES, file_beside, needed_archive

Parts = Mapping[str, tuple[Object, ...]]


@dataclass(frozen=True)
class Upstream:
    """A release, and the objects of its components before any change. `given` are settings with the profile full."""

    given: Settings
    parts: Parts

    @property
    def release(self) -> str:
        """Its version."""
        return self.given.release.version

    @property
    def example(self) -> Upstream:
        """What upstream's own example has of it."""
        return self.only([part.name for part in self.given.release.components.values() if part.example])

    def only(self, names: Collection[str]) -> Upstream:
        """These components of it."""
        return replace(self, parts={name: objects for name, objects in self.parts.items() if name in names})

    def settings(self, **variables: Any) -> Settings:
        """Settings for it."""
        return parse({"kubeflow_release": self.release, "kubeflow_profile": "full", **variables})

    def patched(self, settings: Settings) -> dict[str, tuple[Object, ...]]:
        """Its objects as a roll-out patches them."""
        return {name: patched(objects, name, settings) for name, objects in self.parts.items()}

    def changed(self, **variables: Any) -> dict[str, tuple[Object, ...]]:
        """Its objects with what these variables set for the environment."""
        settings = self.settings(**variables)
        return {name: for_environment(name, objects, settings) for name, objects in self.parts.items()}


WholeRelease = Callable[[str], Upstream]


def by_ref(parts: Parts) -> dict[Ref, Object]:
    """All objects of these components."""
    return {Ref.of(obj): obj for objects in parts.values() for obj in objects}


def rendered(release: str, kustomize: Path) -> Upstream:
    """All components of upstream's example and of the profile full but Volcano; skipped without the archive."""
    given = parse(
        {
            "kubeflow_release": release,
            "kubeflow_profile": "full",
            "kubeflow_source": str(needed_archive(release)),
            "kubeflow_sources": {name: str(file_beside(file)) for name, file in REMOTE_BASES.get(release, {}).items()},
            "kustomize_binary": str(kustomize),
            "local_path_source": str(file_beside("local-path-storage-0.0.37.yaml")),
        }
    )
    parts = {part.name: part for part in given.components if part.name != "volcano"}
    parts |= {part.name: part for part in given.release.components.values() if part.example}
    return Upstream(given, render_upstream(given, [*parts.values()], silent)[0])
