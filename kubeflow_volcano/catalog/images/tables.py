"""The tables about images, read from the data files beside this one and checked against their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName, matches
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.read import load

__all__ = [
    "Built",
    "Compiled",
    "ContainerRules",
    "Gone",
    "Hook",
    "Site",
    "Spot",
    "all_gone",
    "architectures_of",
    "compiled",
    "container_rules",
    "documentation",
    "gone",
    "hooks",
    "sites",
]


@dataclass(frozen=True, slots=True)
class Spot:
    """A text within the objects of a kind; `name` and the steps of `at` are patterns."""

    kind: str
    name: str
    at: tuple[str, ...]

    def holds(self, kind: str, name: str, path: tuple[str | int, ...]) -> bool:
        """Whether the text at `path` of that object is meant."""
        return (
            kind == self.kind
            and len(path) == len(self.at)
            and fnmatchcase(name, self.name)
            and all(fnmatchcase(str(step), pattern) for step, pattern in zip(path, self.at, strict=True))
        )


@dataclass(frozen=True, slots=True)
class Site:
    """A text that holds references, and in which form: reference, document, versioned, hub or code."""

    id: str
    spot: Spot
    form: str
    inside: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ContainerRules:
    """Patterns of the environment variables and flags of containers that hold references."""

    environment: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hook:
    """Code whose image names environment variables replace; the tag is the text at `version_key` of `version_name`."""

    site: str
    workload: str
    container: str
    images: tuple[str, ...]
    version_kind: str
    version_name: str
    version_key: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """An image inside a program of versions `lowest` to `highest`; without flag and variable it is fixed."""

    workload: str
    container: str
    lowest: str
    highest: str
    image: str
    flag: str
    environment: str
    use: str

    def covers(self, version: str) -> bool:
        """Whether that version of the program has it."""
        return version_key(self.lowest) <= version_key(version) <= version_key(self.highest)


@dataclass(frozen=True, slots=True)
class Gone:
    """An image that its registry does not have any more."""

    repository: str
    tag_suffix: str
    replacement: str | None
    releases: tuple[str, ...]
    since: str
    evidence: str

    def replaces(self, image: ImageName) -> ImageName | None:
        """The image to take instead of `image`; None where none is known."""
        if self.replacement is None:
            return None
        return ImageName.parse(self.replacement.format(tag=image.tag.removesuffix(self.tag_suffix)))


@dataclass(frozen=True, slots=True)
class Built:
    """The architectures that images of that repository and tag were built for."""

    repository: str
    tag: str
    architectures: tuple[str, ...]
    evidence: str


@cache
def sites() -> tuple[Site, ...]:
    """Where references stand outside containers."""
    return tuple(
        Site(item["id"], _spot(item), item["form"], tuple(tuple(path) for path in item.get("inside", ())))
        for item in load("images/sites.yaml", "image_sites")["sites"]
    )


@cache
def documentation() -> tuple[Spot, ...]:
    """Texts that look like configuration, and that nothing reads."""
    return tuple(_spot(item) for item in load("images/sites.yaml", "image_sites")["documentation"])


@cache
def container_rules() -> ContainerRules:
    """Which variables and flags of containers hold references."""
    data = load("images/sites.yaml", "image_sites")["containers"]
    return ContainerRules(tuple(data["environment"]), tuple(data["arguments"]))


@cache
def hooks() -> tuple[Hook, ...]:
    """Code whose images are set from outside."""
    return tuple(
        Hook(
            item["site"],
            item["workload"],
            item["container"],
            tuple(item["images"]),
            item["version"]["kind"],
            item["version"]["name"],
            item["version"]["key"],
        )
        for item in load("images/sites.yaml", "image_sites")["hooks"]
    )


@cache
def compiled() -> tuple[Compiled, ...]:
    """Images that stand in programs."""
    return tuple(
        Compiled(
            workload=item["workload"],
            container=item["container"],
            lowest=item["versions"][0],
            highest=item["versions"][1],
            image=item["image"],
            flag=(item["setting"] or {}).get("flag", ""),
            environment=(item["setting"] or {}).get("environment", ""),
            use=item["use"],
        )
        for item in load("images/compiled.yaml", "image_compiled")["images"]
    )


def gone(image: ImageName) -> Gone | None:
    """What is known about the end of `image`, or None: as far as is known it is still there."""
    return next((entry for entry in all_gone() if matches(image.repository, entry.repository)), None)


@cache
def all_gone() -> tuple[Gone, ...]:
    """Every image that is known to be gone; the first entry that fits counts."""
    return tuple(
        Gone(
            repository=item["repository"],
            tag_suffix=item.get("tag_suffix", ""),
            replacement=item["replacement"],
            releases=tuple(item["releases"]),
            since=item["since"],
            evidence=item["evidence"],
        )
        for item in load("images/gone.yaml", "image_gone")["gone"]
    )


def architectures_of(image: ImageName) -> Built | None:
    """What `image` was built for, or None: unknown."""
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
    return tuple(
        Built(item["repository"], item["tag"], tuple(item["architectures"]), item["evidence"])
        for item in load("images/architectures.yaml", "image_architectures")["images"]
    )


def _spot(item: Mapping[str, Any]) -> Spot:
    return Spot(item["kind"], item["name"], tuple(item["at"]))
