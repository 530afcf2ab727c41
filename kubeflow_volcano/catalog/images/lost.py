"""Which releases have all their images, by the catalog: no registry is asked."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.data import cached
from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.catalog.shipped import images_of_release


@cached
def whole_releases() -> tuple[str, ...]:
    """The releases whose images of workloads all exist, some of them as replacements; oldest first."""
    return tuple(version for version in read.releases() if not lost_images(read.load_release(version)))


def lost_images(release: Release) -> Mapping[str, tuple[str, ...]]:
    """By component of the release: images of its workloads that are gone without a replacement."""
    return _gone(release, replaced=False)


def replaced_images(release: Release) -> Mapping[str, tuple[str, ...]]:
    """By component of the release: images of its workloads that are gone and have a replacement."""
    return _gone(release, replaced=True)


def _gone(release: Release, *, replaced: bool) -> Mapping[str, tuple[str, ...]]:
    images = images_of_release(release.version)
    gone: dict[str, tuple[str, ...]] = {}
    for part in release.components.values():
        names = {text: ImageName.parse(text) for (ref, _), text in images.items() if ref in part.workloads}
        ends = {text: tables.gone(name) for text, name in names.items() if name}
        if own := sorted(text for text, end in ends.items() if end and bool(end.replacement) is replaced):
            gone[part.name] = tuple(own)
    return gone
