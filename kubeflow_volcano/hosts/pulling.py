"""What each node is to pull, by what it has; and what the answers of its runtime mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName, matches

__all__ = ["Answer", "Disk", "NodeImages", "Todo", "Wanted", "answer_of", "tagged", "todo"]


class Answer(StrEnum):
    """What a failed pull means for the next one."""

    REFUSED = "refused"
    """403, 404 or a request to sign in: this image, on no node again in this run."""
    BUSY = "busy"
    """429: everything waits and goes on slower."""
    FULL = "full"
    """No room: nothing more on this node."""
    UNTRUSTED = "untrusted"
    """The registry's certificate is not trusted by this node: nothing more on it."""
    SILENT = "silent"
    """No answer, or a 5xx: nothing more on this node when it comes three times in a row."""
    FAILED = "failed"
    """Anything else, about this image alone."""


_MEANINGS = (
    (Answer.BUSY, r"429 too many|status(?:code)?:? ?429|too ?many ?requests"),
    (Answer.FULL, r"no space left on device|disk quota exceeded"),
    (Answer.UNTRUSTED, r"x509:|certificate signed by unknown|failed to verify certificate"),
    (Answer.SILENT, r"50[0234] (?:internal|bad|service|gateway)|status(?:code)?:? ?50[0234]|timed? ?-?out|deadline"),
    (Answer.SILENT, r"connection re(?:fused|set)|no such host|no route to host|network is unreachable|misbehaving"),
    (Answer.SILENT, r"context canceled|unexpected EOF"),
    (Answer.REFUSED, r"40[134] (?:unauthorized|forbidden|not found)|status(?:code)?:? ?40[134]|pull access denied"),
    (Answer.REFUSED, r"insufficient_scope|: denied|unauthorized|authentication required|forbidden"),
    (Answer.REFUSED, r"code = NotFound|not found\W*$|manifest unknown|name unknown"),
)
"""Words of containerd, CRI-O, ctr and the distribution API (core/remotes/docker/resolver.go of containerd), in the
order in which they are looked for: numbers only beside their words, as tags are numbers, too."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One image as nodes name it.

    `asked` is the name by which its registry or mirror has it. `architectures` are those that it was built for, empty
    where unknown. `known` says why it can't be had, empty where nothing is known against it.
    """

    name: str
    asked: str
    architectures: tuple[str, ...] = ()
    known: str = ""

    @property
    def pinned(self) -> str:
        """The digest in its name, or nothing."""
        return self.name.partition("@")[2]


@dataclass(frozen=True, slots=True)
class Disk:
    """Where a node keeps its images; sizes in bytes, the used share in percent."""

    path: str
    total: int
    free: int
    used_percent: float

    def short(self, limit_percent: int) -> int:
        """How many bytes are missing to be below the limit."""
        return max(0, int(self.total * (100 - limit_percent) / 100) - self.free)


@dataclass(frozen=True, slots=True)
class NodeImages:
    """A node as kfv_pull_host tells it: names of its images by tag and by digest, and why it is `unusable`, if so."""

    node: str
    unusable: str
    runtime: str
    architecture: str
    names: frozenset[str]
    sandbox: str
    disk: Disk

    @classmethod
    def decode(cls, node: str, told: Mapping[str, Any]) -> NodeImages:
        """The result of the module for the host `node`."""
        if told["unusable"]:
            return cls(node, str(told["unusable"]), "", "", frozenset(), "", Disk("", 0, 0, 0.0))
        names = {str(name) for image in told["images"] for name in (*image["tags"], *image["digests"])}
        sandbox = ImageName.parse(told["sandbox"]) if told["sandbox"] else None
        return cls(
            node,
            "",
            f"{told['runtime']['name']} {told['runtime']['version']}",
            told["architecture"],
            frozenset(names),
            tagged(sandbox) if sandbox else "",
            Disk(**told["disk"]),
        )

    def has(self, name: str) -> bool:
        """Whether the image of that complete reference is there; a digest goes before a tag."""
        image = ImageName.parse(name)
        if image is None:
            return False
        return (f"{image.repository}@{image.digest}" if image.digest else tagged(image)) in self.names


@dataclass(frozen=True, slots=True)
class Todo:
    """What one node is to pull, what it has already, and what is left out on it with the reason."""

    node: str
    missing: tuple[str, ...]
    present: tuple[str, ...]
    left: Mapping[str, str]


def tagged(image: ImageName) -> str:
    """The reference with the tag that a missing one means."""
    return str(image) if image.tag or image.digest else f"{image}:latest"


def todo(node: NodeImages, wanted: Iterable[Wanted], exclude: Sequence[str] = ()) -> Todo:
    """What of `wanted` the node lacks, its sandbox image first; `exclude` are patterns of repositories."""
    sandbox = [Wanted(node.sandbox, node.sandbox)] if node.sandbox else []
    missing: list[str] = []
    present: list[str] = []
    left: dict[str, str] = {}
    for item in dict.fromkeys((*sandbox, *wanted)):
        image = ImageName.parse(item.name)
        if image is None or any(matches(image.repository, pattern) for pattern in exclude):
            continue
        if node.has(item.name):
            present.append(item.name)
        elif item.known:
            left[item.name] = item.known
        elif item.architectures and node.architecture not in item.architectures:
            left[item.name] = f"not built for {node.architecture}"
        else:
            missing.append(item.name)
    return Todo(node.node, tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(present)), left)


def answer_of(error: str) -> Answer:
    """What the words of a runtime that did not pull mean."""
    for meaning, pattern in _MEANINGS:
        if re.search(pattern, error, re.IGNORECASE):
            return meaning
    return Answer.FAILED
