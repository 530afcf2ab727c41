"""What the catalog knows about images: where their names are, which are gone, and for what they were built."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.images.names import ImageName, matches
from kubeflow_volcano.catalog.model import VersionRange
from kubeflow_volcano.decode import decode


@dataclass(frozen=True, slots=True)
class Spot:
    """A text in objects of a kind; `name` and the steps of the path `at` are patterns."""

    kind: str
    name: str
    at: tuple[str, ...]

    def holds(self, kind: str, name: str, path: tuple[str | int, ...]) -> bool:
        """Whether it describes the text at `path` in that object."""
        return (
            kind == self.kind
            and len(path) == len(self.at)
            and fnmatchcase(name, self.name)
            and all(fnmatchcase(str(step), pattern) for step, pattern in zip(path, self.at, strict=True))
        )


@dataclass(frozen=True, slots=True)
class Site(Spot):
    """A text with image references. `form` is reference, document, versioned, hub, template or code.

    `inside` has the paths of references in a document.
    """

    id: str
    form: str
    inside: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerRules:
    """Patterns of the environment variables and flags of containers whose values are image references."""

    environment: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HookVersion:
    """The object, and the key in its `data`, whose text is the default tag of a hook's images."""

    kind: str
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Hook:
    """Code with default image names, each overridden by the environment variable of `images`."""

    site: str
    workload: str
    container: str
    images: tuple[str, ...]
    version: HookVersion


@dataclass(frozen=True, slots=True)
class Sites:
    """Where image references are in rendered manifests.

    Nothing reads the texts of `documentation`, although they look like configuration.
    """

    containers: ContainerRules
    sites: tuple[Site, ...]
    documentation: tuple[Spot, ...]
    hooks: tuple[Hook, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """An image name in a program of those versions; without a flag or environment variable it cannot be changed."""

    workload: str
    container: str
    versions: VersionRange
    image: str
    use: str
    flag: str = ""
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """An image that its registry no longer has, in `versions`: patterns of tags and digests.

    `program` says whether the replacement is the same version of the program or a later one; empty without one.
    """

    repository: str
    replacement: str | None
    releases: tuple[str, ...]
    since: str
    evidence: str
    tag_suffix: str = ""
    versions: tuple[str, ...] = ("*",)
    program: str = ""

    def is_about(self, image: ImageName) -> bool:
        """Whether the entry describes `image`."""
        return matches(image.repository, self.repository) and any(
            fnmatchcase(image.version, pattern) for pattern in self.versions
        )

    def replaces(self, image: ImageName) -> ImageName | None:
        """The image to use instead of `image`; None where none is known."""
        if self.replacement is None:
            return None
        return ImageName.parse(self.replacement.format(tag=image.tag.removesuffix(self.tag_suffix)))


@dataclass(frozen=True, slots=True)
class Built:
    """For which architectures images of that repository and tag were built."""

    repository: str
    tag: str
    architectures: tuple[str, ...]
    evidence: str


@cache
def sites() -> Sites:
    """Where image references are in rendered manifests."""
    return decode(Sites, load("images/sites"), "sites")


@cache
def compiled() -> tuple[Compiled, ...]:
    """Image names that are compiled into programs."""
    return decode(tuple[Compiled, ...], load("images/compiled")["images"], "images")


@cache
def all_gone() -> tuple[Gone, ...]:
    """Every image that is known to be gone; the first matching entry applies."""
    return decode(tuple[Gone, ...], load("images/gone")["gone"], "gone")


def gone(image: ImageName) -> Gone | None:
    """Since when `image` is gone, and its replacement; None where it is not known to be gone."""
    return next((entry for entry in all_gone() if entry.is_about(image)), None)


def architectures_of(image: ImageName) -> Built | None:
    """For which architectures `image` was built; None where that is unknown."""
    return next(
        (
            entry
            for entry in _built()
            if matches(image.repository, entry.repository) and fnmatchcase(image.tag, entry.tag)
        ),
        None,
    )


@cache
def _built() -> tuple[Built, ...]:
    return decode(tuple[Built, ...], load("images/architectures")["images"], "images")
