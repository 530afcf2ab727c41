"""Recognizing the Kubeflow release of a cluster by its images, labels and CRDs, however it was installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.shipped import crd_versions, shipped_images, version_labels
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CRDS
from kubeflow_volcano.validators.subjects.workloads import RESOURCE_OF_KIND

_LABEL = "app.kubernetes.io/version"
_SURE, _LIKELY, _ENOUGH = 0.9, 0.6, 3


@dataclass(frozen=True, slots=True)
class Mark:
    """A property of an object in which releases differ: its value, and the releases with this value."""

    ref: Ref
    found: str
    releases: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recognised:
    """The releases, oldest first, that most marks match; `against` are the marks that match none of them."""

    releases: tuple[str, ...]
    marks: int
    against: tuple[Mark, ...]

    @property
    def fitting(self) -> int:
        """Number of marks that match."""
        return self.marks - len(self.against)

    @property
    def confidence(self) -> str:
        """High: at least 90 % of the marks, and three, match one release; medium: 60 %, or two releases; else low."""
        share = self.fitting / self.marks
        if share >= _SURE and self.marks >= _ENOUGH and len(self.releases) == 1:
            return "high"
        return "medium" if share >= _LIKELY and len(self.releases) < _ENOUGH else "low"


def recognise(given: Iterable[Mark], among: Collection[str] = ()) -> Recognised | None:
    """The release with these marks, one of those `among` if any are named; None if no mark belongs to a release."""
    given = tuple(given)
    counts = Counter(release for item in given for release in item.releases if not among or release in among)
    if not counts:
        return None
    most = max(counts.values())
    best = tuple(release for release in read.releases() if counts[release] == most)
    return Recognised(best, len(given), tuple(item for item in given if not item.releases.intersection(best)))


def marks(facts: Facts) -> tuple[Mark, ...]:
    """Images, version labels and CRD versions of objects that releases have; what all releases share is no mark.

    An unknown version counts only in Kubeflow's own namespaces: Istio, cert-manager and Knative are often installed
    independently, in other versions.

    Raises:
        CannotJudgeError: a kind that is needed could not be read.
    """
    every = frozenset(read.releases())
    images = image_marks(lambda ref: facts.get(RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name))
    found = [*images, *_of_labels(facts), *_of_crds(facts)]
    return tuple(item for item in found if item.releases != every and (item.releases or _is_own(item.ref)))


def _is_own(ref: Ref) -> bool:
    return ref.namespace.startswith("kubeflow")


def stands_for(image: ImageName, upstream: ImageName) -> bool:
    """Whether `image` is `upstream`'s, or the catalog's replacement for it, from any registry.

    The last path element and the version must match: the digests if both have one, else the tags.
    """
    end = tables.gone(upstream)
    wanted = [upstream, end.replaces(upstream)] if end else [upstream]
    return any(_same(image, item) for item in wanted if item)


def _same(one: ImageName, other: ImageName) -> bool:
    names = {item.path.rpartition("/")[2] for item in (one, other)}
    if one.digest and other.digest:
        return len(names) == 1 and one.digest == other.digest
    return len(names) == 1 and bool(one.tag) and one.tag == other.tag


def image_marks(live_object: Callable[[Ref], Object | None]) -> Iterator[Mark]:
    """The image of each container of a workload that releases have, if `live_object` returns the workload."""
    for (ref, container), known in shipped_images().items():
        live = live_object(ref)
        image = ImageName.parse(image_of(live["spec"]["template"], container)) if live else None
        if image:
            names = ((ImageName.parse(text), releases) for text, releases in known.items())
            fitting = (releases for name, releases in names if name and stands_for(image, name))
            yield Mark(ref, f"image {image}", frozenset(release for releases in fitting for release in releases))


def image_of(pod: Object, container: str) -> str:
    """The image of a container of a pod or a pod template; empty if it has no such container."""
    containers = (item for key in ("initContainers", "containers") for item in pod["spec"].get(key) or ())
    return next((item["image"] for item in containers if item["name"] == container), "")


def _of_labels(facts: Facts) -> Iterator[Mark]:
    for ref, known in version_labels().items():
        live = facts.get(RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name)
        value = ((live or {"metadata": {}})["metadata"].get("labels") or {}).get(_LABEL)
        if value:
            yield Mark(ref, f"label {_LABEL}={value}", frozenset(known.get(value, ())))


def _of_crds(facts: Facts) -> Iterator[Mark]:
    """Served versions in which releases differ, and kinds that only some releases have."""
    having: dict[str, set[str]] = {}
    for release in read.releases():
        for part in read.load_release(release).components.values():
            for name in part.crds:
                having.setdefault(name, set()).add(release)
    differing: Mapping[str, Mapping[frozenset[str], tuple[str, ...]]] = crd_versions()
    for name, releases in sorted(having.items()):
        live = facts.get(CRDS, "", name)
        if live is None:
            continue
        served = frozenset(item["name"] for item in live["spec"]["versions"] if item.get("served"))
        fitting = differing[name].get(served, ()) if name in differing else releases
        yield Mark(Ref.of(live), f"versions {' '.join(sorted(served))}", frozenset(fitting))
