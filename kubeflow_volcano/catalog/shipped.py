"""What each release ships, as seen in a cluster: images of containers, version labels, versions of CRDs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, TypeAlias

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.model import ObjectName
from kubeflow_volcano.decode import Parsed, decode
from kubeflow_volcano.ref import Ref

__all__ = ["crd_versions", "images_of_release", "images_outside", "shipped_images", "version_labels"]

_Releases: TypeAlias = tuple[str, ...]
_Names: TypeAlias = Annotated[frozenset[str], Parsed(lambda text: frozenset(text.split()))]


@dataclass(frozen=True, slots=True)
class _Workload:
    containers: Mapping[str, Mapping[str, _Releases]]
    labels: Mapping[str, _Releases] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Shipped:
    workloads: Mapping[ObjectName, _Workload]
    crds: Mapping[str, Mapping[_Names, _Releases]]
    outside: Mapping[str, Mapping[ObjectName, Mapping[str, str]]]


@cache
def _shipped() -> _Shipped:
    return decode(_Shipped, load("shipped"), "shipped")


@cache
def shipped_images() -> Mapping[tuple[Ref, str], Mapping[str, _Releases]]:
    """By workload and container: each upstream image and the releases that have it."""
    return {
        (ref, container): images
        for ref, workload in _shipped().workloads.items()
        for container, images in workload.containers.items()
    }


@cache
def version_labels() -> Mapping[Ref, Mapping[str, _Releases]]:
    """By workload: each value of its label app.kubernetes.io/version and the releases that have it."""
    return {ref: workload.labels for ref, workload in _shipped().workloads.items() if workload.labels}


def crd_versions() -> Mapping[str, Mapping[frozenset[str], _Releases]]:
    """By name of a CRD in which releases differ: each set of served versions and the releases that serve it."""
    return _shipped().crds


@cache
def images_of_release(release: str) -> Mapping[tuple[Ref, str], str]:
    """By workload and container: the image in that release."""
    return {
        place: image
        for place, images in shipped_images().items()
        for image, releases in images.items()
        if release in releases
    }


def images_outside(component: str, version: str) -> Mapping[tuple[Ref, str], str]:
    """By workload and container: the image of that version of a component outside releases, such as Volcano."""
    return {
        (ref, container): image.format(version=version)
        for ref, containers in _shipped().outside[component].items()
        for container, image in containers.items()
    }
