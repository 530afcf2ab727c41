"""Known mirrors: how they spell the names of images, what they serve, and how often they may be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.images.names import ImageName, matches
from kubeflow_volcano.catalog.read import load

__all__ = ["AllowList", "Mirror", "known_mirrors", "load_mirror", "mirror_of"]


@dataclass(frozen=True, slots=True)
class AllowList:
    """Patterns of what a mirror serves. An image that is in neither tuple is not served where the list is `whole`."""

    allowed: tuple[str, ...]
    not_allowed: tuple[str, ...]
    whole: bool
    origin: str

    def serves(self, image: ImageName) -> bool | None:
        """Whether the mirror serves `image`; None where the list is an extract that does not say."""
        if any(matches(image.repository, pattern) for pattern in self.allowed):
            return True
        if self.whole or any(matches(image.repository, pattern) for pattern in self.not_allowed):
            return False
        return None

    @classmethod
    def of_lines(cls, lines: Iterable[str], origin: str) -> AllowList:
        """A whole list, one pattern a line; empty lines and those that begin with # do not count."""
        patterns = (line.strip() for line in lines)
        return cls(tuple(line for line in patterns if line and not line.startswith("#")), (), whole=True, origin=origin)


@dataclass(frozen=True, slots=True)
class Mirror:
    """`hosts` maps each registry that it serves to its own name for it; None: below the prefix only."""

    name: str
    title: str
    prefix: str
    hosts: Mapping[str, str | None]
    requests_per_minute: int
    allow_list: AllowList


@cache
def known_mirrors() -> tuple[str, ...]:
    """Names of the mirrors that the catalog knows."""
    return tuple(load("images/mirrors.yaml", "image_mirrors")["mirrors"])


@cache
def load_mirror(name: str) -> Mirror:
    """The mirror of that name."""
    item = load("images/mirrors.yaml", "image_mirrors")["mirrors"][name]
    source = item["source"]
    return Mirror(
        name=name,
        title=item["title"],
        prefix=item["prefix"],
        hosts=item["hosts"],
        requests_per_minute=item["requests_per_minute"],
        allow_list=AllowList(
            tuple(item["allowed"]),
            tuple(item["not_allowed"]),
            whole=False,
            origin=f"{source['repository']} at {source['commit'][:7]} ({source['date']})",
        ),
    )


def mirror_of(image: ImageName) -> Mirror | None:
    """The known mirror that has that name, or None."""
    for mirror in map(load_mirror, known_mirrors()):
        if image.host == mirror.prefix or image.host in mirror.hosts.values():
            return mirror
    return None
