"""Image references: parsed and formatted by the reference grammar of the distribution project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

FLOATING = frozenset({"latest", "master", "main", "edge", "nightly", "dev", "canary", "stable"})
"""Tags that are known to move; all others count as fixed."""

_DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
_STEP = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?")
_REST = re.compile(
    rf"(?P<path>{_STEP}(?:/{_STEP})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?:@(?P<digest>sha256:[0-9a-f]{{64}}))?"
)


@dataclass(frozen=True, slots=True, order=True)
class ImageName:
    """A complete reference: `docker.io` and `library/` are explicit. Tag and digest are empty where absent."""

    host: str
    path: str
    tag: str = ""
    digest: str = ""

    @staticmethod
    def parse(text: str) -> ImageName | None:
        """The reference in `text`; None where it is not one."""
        return _parsed(text)

    @property
    def repository(self) -> str:
        """Host and path."""
        return f"{self.host}/{self.path}"

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self.path.rpartition("/")[2]

    @property
    def pinned(self) -> bool:
        """Whether it stays the same image: it has a digest, or a tag that is not known to move."""
        return bool(self.digest) or bool(self.tag and self.tag not in FLOATING)

    @property
    def version(self) -> str:
        """The digest, else the tag, else `latest`."""
        return self.digest or self.tag or "latest"

    def at(self, repository: str) -> ImageName:
        """The same tag and digest in another repository, given with its host."""
        host, _, path = repository.partition("/")
        return replace(self, host=host, path=path)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.repository}{tag}{digest}"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ImageName | None:
    first, slash, rest = text.partition("/")
    host = first if slash and _is_host(first) else ""
    match = _REST.fullmatch(rest if host else text)
    if match is None or (host and not _HOST.fullmatch(host)):
        return None
    path = match["path"]
    if not host or host in _DOCKER_HUB:
        host, path = "docker.io", path if "/" in path else f"library/{path}"
    return ImageName(host, path, match["tag"] or "", match["digest"] or "")


def version_tag(image: str) -> str:
    """The tag of a reference without a leading v, such as 1.10.0; empty without a tag, or if it is no reference."""
    name = ImageName.parse(image)
    return name.tag.removeprefix("v") if name else ""


def _is_host(text: str) -> bool:
    return "." in text or ":" in text or text == "localhost"


@lru_cache(maxsize=8192)
def matches(repository: str, pattern: str) -> bool:
    """Whether a repository matches a pattern: `*` is one step of the path, or part of one, `**` is any number."""
    return _pattern(pattern).fullmatch(repository) is not None


@lru_cache(maxsize=4096)
def _pattern(pattern: str) -> re.Pattern[str]:
    steps = (".+" if step == "**" else "[^/]*".join(map(re.escape, step.split("*"))) for step in pattern.split("/"))
    return re.compile("/".join(steps))


def program_of(container: Mapping[str, Any]) -> ImageName | None:
    """The image of a container that starts the image's own program; None for one with another command, as a shell."""
    image = _parsed(container["image"])
    command = container.get("command") or ()
    return image if image and (not command or any(image.name in word for word in command)) else None
