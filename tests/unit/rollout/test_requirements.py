"""What the catalog says that components require, against what upstream's manifests hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.desired import Parts
from kubeflow_volcano.rollout.settings.settings import Settings
from tests.unit.releases import WholeRelease

WITHOUT_NAMESPACE: dict[str, set[tuple[str, str]]] = {
    "1.6.1": {("training-operator", "kubeflow-namespace")},
    "26.03": set(),
    "26.03.1": set(),
}
"""Who is content with a bare namespace, which is made for it, where upstream's namespace carries nothing it needs."""


@pytest.fixture(scope="module", params=WITHOUT_NAMESPACE)
def release(request: pytest.FixtureRequest, whole_release: WholeRelease) -> tuple[Settings, Parts]:
    """A release and the objects of each of its components in upstream's example."""
    example = whole_release(request.param).example
    return example.given, example.parts


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
