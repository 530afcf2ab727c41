"""What the catalog says that components bring and require, against what upstream's manifests hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.shipped import crd_versions, images_of_release, version_labels
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.desired import Parts, render_upstream
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.archives import REMOTE_BASES, file_beside, needed_archive

WORKLOADS = {"DaemonSet", "Deployment", "Job", "StatefulSet"}
WEBHOOKS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
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


@pytest.mark.upstream
def test_the_catalog_lists_what_components_bring_and_nothing_else(release: tuple[Settings, Parts]) -> None:
    settings, parts = release
    for name, objects in parts.items():
        part = settings.release.components[name]
        refs = {Ref.of(obj) for obj in objects}
        awaited = {Ref.of(obj) for obj in objects if obj["kind"] in WORKLOADS and obj["spec"].get("replicas") != 0}
        assert set(part.workloads) == awaited
        assert set(part.webhooks) == {ref for ref in refs if ref.kind in WEBHOOKS}
        assert set(part.crds) == {ref.name for ref in refs if ref.kind == "CustomResourceDefinition"}
        claims = {(ref.namespace, ref.name) for ref in refs if ref.kind == "PersistentVolumeClaim"}
        assert {(claim.namespace, claim.name) for claim in part.claims} == claims


@pytest.mark.upstream
def test_the_catalog_knows_by_which_images_labels_and_versions_a_release_is_seen(
    release: tuple[Settings, Parts],
) -> None:
    settings, parts = release
    version = settings.release.version
    objects = [obj for objects in parts.values() for obj in objects]
    awaited = {ref for name in parts for ref in settings.release.components[name].workloads}
    workloads = {Ref.of(obj): obj for obj in objects if Ref.of(obj) in awaited}
    images = {
        (ref, item["name"]): str(ImageName.parse(item["image"]))
        for ref, obj in workloads.items()
        for key in ("initContainers", "containers")
        for item in obj["spec"]["template"]["spec"].get(key) or ()
    }
    assert {place: image for place, image in images_of_release(version).items() if place[0] in awaited} == images
    labels = {
        ref: (obj["metadata"].get("labels") or {}).get("app.kubernetes.io/version") for ref, obj in workloads.items()
    }
    shown = {
        ref: value for ref, values in version_labels().items() for value, named in values.items() if version in named
    }
    assert {ref: value for ref, value in shown.items() if ref in awaited} == {k: v for k, v in labels.items() if v}
    for obj in (obj for obj in objects if obj["metadata"]["name"] in crd_versions()):
        served = frozenset(item["name"] for item in obj["spec"]["versions"] if item["served"])
        assert version in crd_versions()[obj["metadata"]["name"]][served]
