"""What each release ships, as far as one sees it on a cluster: images of containers, labels, versions of CRDs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kubeflow_volcano.catalog.decode import named
from kubeflow_volcano.catalog.read import load
from kubeflow_volcano.ref import Ref

__all__ = ["crd_versions", "images_of_release", "images_outside", "shipped_images", "version_labels"]

_Releases = tuple[str, ...]


@cache
def shipped_images() -> Mapping[tuple[Ref, str], Mapping[str, _Releases]]:
    """By workload and container, the images that upstream names for it, each with the releases that do."""
    return {
        (named(name), container): {image: tuple(releases) for image, releases in images.items()}
        for name, item in load("shipped.yaml", "shipped")["workloads"].items()
        for container, images in item["containers"].items()
    }


@cache
def version_labels() -> Mapping[Ref, Mapping[str, _Releases]]:
    """By workload, the values of its label app.kubernetes.io/version, each with the releases that have it."""
    return {
        named(name): {value: tuple(releases) for value, releases in item["labels"].items()}
        for name, item in load("shipped.yaml", "shipped")["workloads"].items()
        if "labels" in item
    }


@cache
def crd_versions() -> Mapping[str, Mapping[frozenset[str], _Releases]]:
    """By name of a CRD in which releases differ, the versions that are served, with the releases that serve them."""
    return {
        name: {frozenset(versions.split()): tuple(releases) for versions, releases in item.items()}
        for name, item in load("shipped.yaml", "shipped")["crds"].items()
    }


@cache
def images_of_release(release: str) -> Mapping[tuple[Ref, str], str]:
    """Image by workload and container, of all components of a release."""
    return {
        place: image
        for place, images in shipped_images().items()
        for image, releases in images.items()
        if release in releases
    }


def images_outside(component: str, version: str) -> Mapping[tuple[Ref, str], str]:
    """The same of a component outside of releases, such as Volcano, in that version."""
    found = load("shipped.yaml", "shipped")["outside"][component]
    return {
        (named(name), container): image.format(version=version)
        for name, containers in found.items()
        for container, image in containers.items()
    }
