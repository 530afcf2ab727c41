"""What the catalog says that components require, against what upstream's manifests hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import Parts, render_upstream
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.archives import REMOTE_BASES, file_beside, needed_archive

WITHOUT_NAMESPACE: dict[str, set[tuple[str, str]]] = {
    "1.6.1": {("training-operator", "kubeflow-namespace")},
    "26.03": set(),
    "26.03.1": set(),
}
"""Who is content with a bare namespace, which is made for it, where upstream's namespace carries nothing it needs."""


@pytest.fixture(scope="module", params=WITHOUT_NAMESPACE)
def release(
    request: pytest.FixtureRequest, kustomize: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Settings, Parts]:
    """A release and the objects of each of its components in upstream's example."""
    version: str = request.param
    archive = needed_archive(version)
    remote = {name: str(file_beside(file)) for name, file in REMOTE_BASES.get(version, {}).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        settings = parse(
            {
                "kubeflow_release": version,
                "kubeflow_source": str(archive),
                "kubeflow_sources": remote,
                "kustomize_binary": str(kustomize),
            }
        )
    parts = [part for part in settings.release.components.values() if part.example]
    return settings, render_upstream(settings, parts, silent)[0]


def needs(objects: tuple[Object, ...], bringers: dict[str, str]) -> Iterator[str]:
    """Components whose kinds or namespaces these objects cannot do without."""
    for obj in objects:
        group = obj["apiVersion"].rpartition("/")[0]
        for key in (f"{group}/{obj['kind']}", f"/Namespace/{obj['metadata'].get('namespace')}"):
            if key in bringers:
                yield bringers[key]


def brought(objects: tuple[Object, ...]) -> Iterator[str]:
    for obj in objects:
        if obj["kind"] == "CustomResourceDefinition":
            yield f"{obj['spec']['group']}/{obj['spec']['names']['kind']}"
        elif obj["kind"] == "Namespace":
            yield f"/Namespace/{obj['metadata']['name']}"


@pytest.mark.upstream
def test_components_require_those_whose_kinds_and_namespaces_they_use(release: tuple[Settings, Parts]) -> None:
    settings, parts = release
    bringers = {key: name for name, objects in parts.items() for key in brought(objects)}
    missing = set()
    for name, objects in parts.items():
        coming = {name, *(part.name for part in settings.requirements(settings.component(name)))}
        missing |= {(name, need) for need in needs(objects, bringers) if need not in coming}
    assert missing == WITHOUT_NAMESPACE[settings.release.version]
