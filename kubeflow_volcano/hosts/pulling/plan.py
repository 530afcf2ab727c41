"""Which images each node pulls, by those that it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName, matches


@dataclass(frozen=True, slots=True)
class Wanted:
    """One image by its name on nodes.

    `asked` is its name in requests to its registry or mirror. `architectures` are those that it was built for, empty if
    unknown. `known` says why it is unavailable, empty if it may be available.
    """

    name: str
    asked: str
    architectures: tuple[str, ...] = ()
    known: str = ""


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk with the images of a node; sizes in bytes, the used share in percent."""

    path: str
    total: int
    free: int
    used_percent: float

    def short(self, limit_percent: int) -> int:
        """How many bytes must be freed to be below the limit."""
        return max(0, int(self.total * (100 - limit_percent) / 100) - self.free)


@dataclass(frozen=True, slots=True)
class NodeImages:
    """A node as kfv_pull_host reports it: its image names by tag and by digest; `unusable` says why it cannot pull."""

    node: str
    unusable: str
    architecture: str
    names: frozenset[str]
    sandbox: str
    disk: Disk

    @classmethod
    def decode(cls, node: str, report: Mapping[str, Any]) -> NodeImages:
        """The result of the module for the host `node`."""
        if report["unusable"]:
            return cls(node, str(report["unusable"]), "", frozenset(), "", Disk("", 0, 0, 0.0))
        names = {str(name) for image in report["images"] for name in (*image["tags"], *image["digests"])}
        sandbox = ImageName.parse(report["sandbox"]) if report["sandbox"] else None
        return cls(
            node,
            "",
            report["architecture"],
            frozenset(names),
            tagged(sandbox) if sandbox else "",
            Disk(**report["disk"]),
        )

    def has(self, name: str) -> bool:
        """Whether the image of that complete reference is present; a digest takes precedence over a tag."""
        image = ImageName.parse(name)
        if image is None:
            return False
        return (f"{image.repository}@{image.digest}" if image.digest else tagged(image)) in self.names


@dataclass(frozen=True, slots=True)
class Todo:
    """What one node pulls, what it has already, and what it skips with the reason."""

    node: str
    missing: tuple[str, ...]
    present: tuple[str, ...]
    left: Mapping[str, str]


def tagged(image: ImageName) -> str:
    """The reference, with `latest` if it has neither tag nor digest."""
    return str(image) if image.tag or image.digest else f"{image}:latest"


def todo(node: NodeImages, wanted: Iterable[Wanted], exclude: Sequence[str] = ()) -> Todo:
    """The images of `wanted` that the node lacks, its sandbox image first; `exclude` are patterns of repositories."""
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
