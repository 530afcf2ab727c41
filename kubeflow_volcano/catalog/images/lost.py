"""Which releases have all their images, by the catalog: no registry is asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.catalog.shipped import images_of_release

__all__ = ["lost_images", "replaced_images", "whole_releases"]


@cache
def whole_releases() -> tuple[str, ...]:
    """The releases whose images of workloads all exist, some of them as replacements; oldest first."""
    return tuple(version for version in read.releases() if not lost_images(read.load_release(version)))


def lost_images(release: Release) -> Mapping[str, tuple[str, ...]]:
    """By component of the release: images of its workloads that are gone without a replacement."""
    found = {part.name: _gone(part, release, replaced=False) for part in release.components.values()}
    return {name: images for name, images in found.items() if images}


def replaced_images(release: Release) -> Mapping[str, tuple[str, ...]]:
    """By component of the release: images of its workloads that are gone and have a replacement."""
    found = {part.name: _gone(part, release, replaced=True) for part in release.components.values()}
    return {name: images for name, images in found.items() if images}


def _gone(part: Component, release: Release, *, replaced: bool) -> tuple[str, ...]:
    images = {text for (ref, _), text in images_of_release(release.version).items() if ref in part.workloads}
    names = {text: ImageName.parse(text) for text in images}
    ends = {text: tables.gone(name) for text, name in names.items() if name}
    return tuple(sorted(text for text, end in ends.items() if end and bool(end.replacement) is replaced))
