"""What each release ships, as seen in a cluster: images of containers, version labels, versions of CRDs, claims.

Images are those of the containers of its workloads, by the entries of the catalog and of the user.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from kubeflow_volcano.catalog.data import cached
from kubeflow_volcano.catalog.model import Claim, Component
from kubeflow_volcano.catalog.read import load_component, load_release, releases
from kubeflow_volcano.ref import Ref

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)

_Places = Mapping[tuple[Ref, str], str]


def _components() -> Iterator[tuple[str, Component]]:
    """Every component of every release, with the release."""
    for version in releases():
        for part in load_release(version).components.values():
            yield version, part


def _by_value(found: Iterable[tuple[K, V, str]]) -> dict[K, dict[V, tuple[str, ...]]]:
    """By place and value: the releases that have it there."""
    by_place: dict[K, dict[V, tuple[str, ...]]] = {}
    for place, value, release in found:
        values = by_place.setdefault(place, {})
        values[value] = (*values.get(value, ()), release)
    return by_place


@cached
def shipped_images() -> Mapping[tuple[Ref, str], Mapping[str, tuple[str, ...]]]:
    """By workload and container: each upstream image and the releases that have it."""
    return _by_value(
        (place, image, release) for release, part in _components() for place, image in _images(part).items()
    )


@cached
def version_labels() -> Mapping[Ref, Mapping[str, tuple[str, ...]]]:
    """By workload: each value of its label app.kubernetes.io/version and the releases that have it."""
    return _by_value((ref, label, release) for release, part in _components() for ref, label in part.labels.items())


@cached
def crd_versions() -> Mapping[str, Mapping[frozenset[str], tuple[str, ...]]]:
    """By name of a CRD in which releases differ: each set of served versions and the releases that serve it."""
    found = _by_value(
        (name, frozenset(served), release)
        for release, part in _components()
        for name, served in part.crds.items()
        if served
    )
    return {name: versions for name, versions in found.items() if len(versions) > 1}


@cached
def shipped_claims() -> tuple[Claim, ...]:
    """The claims of all components, with the identities of their consumers."""
    return tuple(claim for _, part in _components() for claim in part.claims)


@cached
def images_of_release(release: str) -> _Places:
    """By workload and container: the image in that release."""
    return {
        place: image for part in load_release(release).components.values() for place, image in _images(part).items()
    }


def images_outside(component: str, version: str) -> _Places:
    """By workload and container: the image of that version of a component outside releases, such as Volcano."""
    return _images(load_component(component, version))


def _images(part: Component) -> _Places:
    return {(ref, container): image for ref, of in part.images.items() for container, image in of.items()}
