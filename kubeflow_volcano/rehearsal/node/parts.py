"""What a node is made of, and where it sees the parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.rehearsal.inside.boot import Bind

__all__ = ["NODE_PROGRAMS", "Parts"]

NODE_PROGRAMS = (
    "bridge",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "etcd",
    "host-local",
    "kube",
    "kubectl",
    "kwok",
    "loopback",
    "portmap",
    "runc",
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a node is made of: files of the programs by name (those of `NODE_PROGRAMS` count), and the image store."""

    programs: Mapping[str, Path]
    images: Path

    def binds(self) -> list[Bind]:
        """The directories that hold the programs, and where the node sees each."""
        directories = sorted({self.programs[name].parent for name in NODE_PROGRAMS})
        return [Bind(str(directory), self._inside(directory)) for directory in directories]

    def links(self) -> dict[str, str]:
        """Where each program lies in the node, by name."""
        return {name: f"{self._inside(self.programs[name].parent)}/{name}" for name in NODE_PROGRAMS}

    @staticmethod
    def _inside(directory: Path) -> str:
        return f"/host/tools/{directory.parent.name}"
