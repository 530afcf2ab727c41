"""What releases ship is said for every workload of the catalog and for nothing else, and fits its other files."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.operator import version_of_image
from kubeflow_volcano.catalog.shipped import (
    crd_versions,
    images_of_release,
    images_outside,
    shipped_images,
    version_labels,
)

releases = pytest.mark.parametrize("version", read.releases())


@releases
def test_every_workload_of_a_release_has_an_image_and_no_other_has(version: str) -> None:
    workloads = {ref for part in read.load_release(version).components.values() for ref in part.workloads}
    assert {ref for ref, _ in images_of_release(version)} == workloads


@releases
def test_the_operators_image_is_of_the_operators_version(version: str) -> None:
    operator = read.load_release(version).operator
    found = {image for (ref, _), image in images_of_release(version).items() if operator.component in ref.name}
    if operator.kind == "training-operator":
        assert {version_of_image(image) for image in found} == {operator.version}
    else:
        assert any(image.endswith(f":v{operator.version}") for image in found)


def test_a_container_has_one_image_in_a_release() -> None:
    for place, images in shipped_images().items():
        named = [release for releases_ in images.values() for release in releases_]
        assert len(named) == len(set(named)), place
        assert set(named) <= set(read.releases())


def test_images_are_written_in_full() -> None:
    for images in shipped_images().values():
        assert [str(ImageName.parse(image)) for image in images] == list(images)


def test_labels_and_versions_tell_releases_apart() -> None:
    known = set(read.releases())
    for values in version_labels().values():
        assert known >= {release for releases_ in values.values() for release in releases_}
    crds = {name for release in known for part in read.load_release(release).components.values() for name in part.crds}
    for name, served in crd_versions().items():
        assert name in crds
        named = [release for releases_ in served.values() for release in releases_]
        assert len(named) == len(set(named))


@pytest.mark.parametrize("component", ["volcano", "local-path", "scheduler-plugins"])
def test_what_is_outside_of_releases_has_an_image_of_its_version_for_every_workload(component: str) -> None:
    for version in read.versions_of(component):
        found = images_outside(component, version)
        assert {ref for ref, _ in found} == {*read.load_component(component, version).workloads}
        assert {image.rpartition(":v")[2] for image in found.values()} == {version}
