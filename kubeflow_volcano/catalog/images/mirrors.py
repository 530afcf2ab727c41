"""Known mirrors: how they rename images, which images they serve, and their rate limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.images.names import ImageName, matches
from kubeflow_volcano.decode import decode


@dataclass(frozen=True, slots=True)
class AllowList:
    """Patterns of the images that a mirror serves. A `whole` list has all of them; an extract leaves others open."""

    allowed: tuple[str, ...]
    not_allowed: tuple[str, ...]
    whole: bool
    origin: str

    def serves(self, image: ImageName) -> bool | None:
        """Whether the mirror serves `image`; None where an extract does not say."""
        if any(matches(image.repository, pattern) for pattern in self.allowed):
            return True
        if self.whole or any(matches(image.repository, pattern) for pattern in self.not_allowed):
            return False
        return None

    @classmethod
    def of_lines(cls, lines: Iterable[str], origin: str) -> AllowList:
        """A whole list with one pattern per line; empty lines and lines that begin with # are ignored."""
        patterns = (line.strip() for line in lines)
        return cls(tuple(line for line in patterns if line and not line.startswith("#")), (), whole=True, origin=origin)


@dataclass(frozen=True, slots=True)
class _Origin:
    repository: str
    commit: str
    date: str


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror. `hosts` maps each registry to the mirror's host for it; None: it is only below `prefix`."""

    name: str
    title: str
    source: _Origin
    prefix: str
    hosts: Mapping[str, str | None]
    requests_per_minute: int
    allowed: tuple[str, ...]
    not_allowed: tuple[str, ...]

    @property
    def allow_list(self) -> AllowList:
        """The extract of its list that the catalog has."""
        origin = f"{self.source.repository} at {self.source.commit[:7]} ({self.source.date})"
        return AllowList(self.allowed, self.not_allowed, whole=False, origin=origin)


@cache
def known_mirrors() -> tuple[str, ...]:
    """Names of the mirrors in the catalog."""
    return tuple(load("images/mirrors")["mirrors"])


@cache
def load_mirror(name: str) -> Mirror:
    """The mirror of that name."""
    return decode(Mirror, load("images/mirrors")["mirrors"][name], name, name=name)


def mirror_of(image: ImageName) -> Mirror | None:
    """The known mirror that serves `image` under this name, or None."""
    for mirror in map(load_mirror, known_mirrors()):
        if image.host == mirror.prefix or image.host in mirror.hosts.values():
            return mirror
    return None
