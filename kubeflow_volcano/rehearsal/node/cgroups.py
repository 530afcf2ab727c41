"""The control groups of a node, in the three layouts that Linux hosts have.

`hybrid` (version 1 controllers and a `unified` hierarchy beside them) is what the tests run on. `v1` without `unified`
differs by one directory less. `v2` is written after the kernel's documentation (admin-guide/cgroup-v2.rst) and was
never run: no host with it was at hand.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kubeflow_volcano.rehearsal.inside.mounts import mounts

__all__ = ["NEEDED_CONTROLLERS", "Hierarchy", "Layout", "NodeCgroup", "parse_layout", "read_layout"]

NEEDED_CONTROLLERS = frozenset({"cpu", "cpuset", "memory", "pids"})
"""The kubelet refuses to start its container manager without these (pkg/kubelet/cm)."""

_DAEMONS = "daemons"
_V1_CONTROLLERS = frozenset(
    (
        *("blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory"),
        *("misc", "net_cls", "net_prio", "perf_event", "pids", "rdma"),
    )
)
_RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup file system; a version 1 hierarchy without controllers is a named one (systemd's)."""

    mountpoint: Path
    controllers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """How control groups are mounted on a host.

    `hierarchies` are those that carry the daemons and the pods; `unified` is the version 2 hierarchy of a hybrid host,
    in which the container runtime makes groups of its own accord.
    """

    kind: Literal["v1", "hybrid", "v2", "none"]
    hierarchies: tuple[Hierarchy, ...]
    unified: Path | None = None

    @property
    def controllers(self) -> frozenset[str]:
        """Every controller that can be used."""
        return frozenset().union(*(hierarchy.controllers for hierarchy in self.hierarchies))


def read_layout() -> Layout:
    """The layout of this host."""
    layout = parse_layout(Path("/proc/self/mountinfo").read_text())
    if layout.kind != "v2":
        return layout
    mountpoint = layout.hierarchies[0].mountpoint
    offered = frozenset((mountpoint / "cgroup.controllers").read_text().split())
    return Layout("v2", (Hierarchy(mountpoint, offered),))


def parse_layout(mountinfo: str) -> Layout:
    """Read the text of `/proc/self/mountinfo`; the controllers of a version 2 hierarchy are not in it."""
    version1: dict[Path, frozenset[str]] = {}
    version2: list[Path] = []
    for mount in mounts(mountinfo):
        if mount.kind == "cgroup":
            version1.setdefault(mount.point, frozenset(mount.options) & _V1_CONTROLLERS)
        elif mount.kind == "cgroup2":
            version2.append(mount.point)
    if version1:
        hierarchies = tuple(Hierarchy(path, controllers) for path, controllers in version1.items())
        return Layout("hybrid" if version2 else "v1", hierarchies, version2[0] if version2 else None)
    if version2:
        return Layout("v2", (Hierarchy(version2[0], frozenset()),))
    return Layout("none", ())


@dataclass(frozen=True, slots=True)
class NodeCgroup:
    """The control group `name` at the top of every hierarchy: `daemons` below it, and the kubelet's pods."""

    layout: Layout
    name: str

    @property
    def directories(self) -> tuple[Path, ...]:
        """The cluster's group in every hierarchy that it is made in."""
        return tuple(hierarchy.mountpoint / self.name for hierarchy in self.layout.hierarchies)

    @property
    def removable(self) -> tuple[Path, ...]:
        """The same, and where the container runtime makes one by itself."""
        return self.directories + ((self.layout.unified / self.name,) if self.layout.unified else ())

    @property
    def joins(self) -> tuple[Path, ...]:
        """Files into which a process writes 0 to become one of the node's daemons."""
        return tuple(directory / _DAEMONS / "cgroup.procs" for directory in self.directories)

    def create(self) -> None:
        """Make the groups; those that exist are kept."""
        if self.layout.kind == "v2":
            self._create_v2()
            return
        for directory in self.directories:
            for group in (directory, directory / _DAEMONS):
                group.mkdir(exist_ok=True)
                # A cpuset takes no process before it has processors and memory nodes.
                for setting in ("cpuset.cpus", "cpuset.mems"):
                    inherited = group.parent / setting
                    if inherited.exists():
                        (group / setting).write_text(inherited.read_text())

    def _create_v2(self) -> None:
        """Enable the controllers from the top down; the group itself has no processes, as version 2 demands."""
        (directory,) = self.directories
        (directory / _DAEMONS).mkdir(parents=True, exist_ok=True)
        # The kubelet wants hugetlb where the kernel offers it (pkg/kubelet/cm/cgroup_manager_linux.go).
        wanted = self.layout.controllers & (NEEDED_CONTROLLERS | {"hugetlb", "io"})
        enable = " ".join(f"+{name}" for name in sorted(wanted))
        for group in (directory.parent, directory):
            (group / "cgroup.subtree_control").write_text(enable)

    def processes(self) -> frozenset[int]:
        """Ids of all processes in the groups, as this process sees them."""
        found: set[int] = set()
        for group in self._groups(self.directories):
            with contextlib.suppress(OSError):
                found.update(map(int, (group / "cgroup.procs").read_text().split()))
        return frozenset(found - {0})

    def remove(self, seconds: float) -> tuple[str, ...]:
        """Remove the groups, trying for `seconds` while ended processes leave them; returns what stays."""
        deadline = time.monotonic() + seconds
        while True:
            for group in self._groups(self.removable):
                with contextlib.suppress(OSError):
                    group.rmdir()
            left = tuple(str(group) for group in self.removable if group.exists())
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(_RETRY_SECONDS)

    @staticmethod
    def _groups(tops: tuple[Path, ...]) -> Iterator[Path]:
        """Every group below `tops` and these themselves, children before parents."""
        for top in tops:
            for directory, _, _ in os.walk(top, topdown=False):
                yield Path(directory)
