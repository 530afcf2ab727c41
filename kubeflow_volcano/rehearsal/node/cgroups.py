"""The control groups of a node, in the three layouts that Linux hosts have, and the processes in them.

The tests run on `hybrid` (version 1 controllers and a `unified` hierarchy beside them). `v1` without `unified` has one
directory less. `v2` follows the kernel's documentation (admin-guide/cgroup-v2.rst); `make test-machines` runs it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.inside.boot import read_mounts

NEEDED_CONTROLLERS = frozenset({"cpu", "cpuset", "memory", "pids"})
"""The kubelet refuses to start its container manager without these (pkg/kubelet/cm)."""

_USUAL_PLACE = Path("/sys/fs/cgroup")
"""Where the kubelet looks (pkg/kubelet/cm/util)."""
_DAEMONS = "daemons"
_SUBTREE, _PROCESSES = "cgroup.subtree_control", "cgroup.procs"
_OTHERS = "init"
"""Where a container's own processes are while a cluster runs in it; the name that Docker's image "dind" uses."""
_NOTE = "trusted.kubeflow-volcano.controllers"
_ENABLE_TRIES = 5
_V1_CONTROLLERS = frozenset(
    (
        *("blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory"),
        *("misc", "net_cls", "net_prio", "perf_event", "pids", "rdma"),
    )
)
_REMOVE_SECONDS, _REMOVE_RETRY_SECONDS = 20.0, 0.05
_KILL_SECONDS, _KILL_RETRY_SECONDS = 20.0, 0.02
_NODE_DEPTH = 3  # the word NSpid:, the pid on the host, the pid in the node


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup file system; a version 1 hierarchy without controllers is a named one (systemd's)."""

    mountpoint: Path
    controllers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """How control groups are mounted on a host.

    `hierarchies` hold the daemons and the pods; `unified` is the version 2 hierarchy of a hybrid host, in which the
    container runtime creates groups by itself.
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
    layout = parse_layout(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    if layout.kind != "v2":
        return layout
    mountpoint = layout.hierarchies[0].mountpoint
    offered = frozenset((mountpoint / "cgroup.controllers").read_text().split())
    return Layout("v2", (Hierarchy(mountpoint, offered),))


def parse_layout(mountinfo: str) -> Layout:
    """Read the text of `/proc/self/mountinfo`; the controllers of a version 2 hierarchy are not in it."""
    version1: dict[Path, frozenset[str]] = {}
    version2: list[Path] = []  # one hierarchy, which may be mounted at several places
    for mount in read_mounts(mountinfo):
        if mount.kind == "cgroup":
            version1.setdefault(mount.point, frozenset(mount.options) & _V1_CONTROLLERS)
        elif mount.kind == "cgroup2":
            version2.append(mount.point)
    version2.sort(key=lambda point: point != _USUAL_PLACE)
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
        """The cluster's group in every hierarchy that has one."""
        return tuple(hierarchy.mountpoint / self.name for hierarchy in self.layout.hierarchies)

    @property
    def removable(self) -> tuple[Path, ...]:
        """The same, and the group that the container runtime creates by itself."""
        return self.directories + ((self.layout.unified / self.name,) if self.layout.unified else ())

    @property
    def joins(self) -> tuple[Path, ...]:
        """Files to which a process writes 0 to become one of the node's daemons."""
        return tuple(directory / _DAEMONS / _PROCESSES for directory in self.directories)

    def create(self) -> None:
        """Create the groups that do not exist.

        Raises:
            ProblemsError: the kernel refuses one.
        """
        try:
            self._create()
        except OSError as error:
            raise ProblemsError.problem(
                f"control group {self.name} cannot be made: {error.strerror} ({error.filename}).",
                f"a group at the top of each hierarchy, with {', '.join(sorted(NEEDED_CONTROLLERS))}.",
                "run on the host itself; if the message is about the cpu controller, processes with real-time "
                "priority keep the kernel from enabling it (`ps -eo pid,cls,args` shows them as FF or RR).",
            ) from error

    def _create(self) -> None:
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
        self._make_room()
        (directory,) = self.directories
        top = directory.parent
        (directory / _DAEMONS).mkdir(parents=True, exist_ok=True)
        # The kubelet requires hugetlb where the kernel offers it (pkg/kubelet/cm/cgroup_manager_linux.go).
        wanted = self.layout.controllers & (NEEDED_CONTROLLERS | {"hugetlb", "io"})
        self._remember(self.layout.controllers - _enabled(top))  # the kubelet's libcontainer enables all of them
        enable = " ".join(f"+{name}" for name in sorted(wanted))
        # systemd disables at the top what none of its units uses, until a group below has it enabled: then it is busy.
        for _ in range(_ENABLE_TRIES):
            (top / _SUBTREE).write_text(enable)
            with contextlib.suppress(FileNotFoundError):
                (directory / _SUBTREE).write_text(enable)
                return
        (directory / _SUBTREE).write_text(enable)

    def _make_room(self) -> None:
        """In a container move its processes from the top into a group, as docker's own image for containers does.

        Only the real root may have processes and enable controllers at once; it alone has no cgroup.type.
        """
        top = self.layout.hierarchies[0].mountpoint
        if not (top / "cgroup.type").exists():
            return
        for _ in range(_ENABLE_TRIES):  # a process that is moved may have started another one meanwhile
            if not (pids := _pids(top)):
                return
            (top / _OTHERS).mkdir(exist_ok=True)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    (top / _OTHERS / _PROCESSES).write_text(str(pid))

    def _undo_room(self) -> None:
        """Move them back, once no group of the top needs a controller any more."""
        top = self.layout.hierarchies[0].mountpoint
        others = top / _OTHERS
        with contextlib.suppress(OSError):  # gone, or another group of the container uses a controller
            for _ in range(_ENABLE_TRIES):
                for pid in _pids(others):
                    with contextlib.suppress(ProcessLookupError):
                        (top / _PROCESSES).write_text(str(pid))
            others.rmdir()

    def _remember(self, added: frozenset[str]) -> None:
        """Note in the group which controllers of the top are on for such clusters only: the last turns them off."""
        (directory,) = self.directories
        for group in (directory, *directory.parent.glob("kfv-*")):
            added |= _noted(group)
        with contextlib.suppress(OSError):  # then they stay on, which costs nothing but their accounting
            os.setxattr(directory, _NOTE, " ".join(sorted(added)).encode())

    def processes(self) -> frozenset[int]:
        """Pids of all processes in the groups, as this process sees them."""
        pids: set[int] = set()
        for group in self._groups(self.directories):
            with contextlib.suppress(OSError):
                pids |= _pids(group)
        return frozenset(pids - {0})

    def host_pids(self) -> dict[int, int]:
        """Pids on this machine of the node's own processes, by their pids in the node."""
        pids: dict[int, int] = {}
        for pid in self.processes():
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
                    # Containers in the node are one namespace deeper: they have three numbers.
                    if line.startswith("NSpid:") and len(line.split()) == _NODE_DEPTH:
                        pids[int(line.split()[2])] = pid
        return pids

    def first_process(self) -> int:
        """Pid on this machine of process 1 of the node's pid namespace; 0 without one."""
        return self.host_pids().get(1, 0)

    def kill(self) -> None:
        """Kill process 1, with which the kernel ends its pid namespace, then all other processes in the groups.

        Raises:
            ProblemsError: some did not end; names them.
        """
        _kill(self.first_process())
        targets: frozenset[int] = frozenset()
        for _ in Deadline(_KILL_SECONDS).every(_KILL_RETRY_SECONDS):
            targets = self.processes()
            if not targets:
                return
            for pid in targets:
                _kill(pid)
        raise ProblemsError.problem(
            f"processes {', '.join(map(str, sorted(targets)))} of control group {self.name} do not end.",
            "a node without processes.",
            "find out what they wait for (`cat /proc/PID/stack`); a hanging disk or network file system does this.",
        )

    def remove(self, seconds: float = _REMOVE_SECONDS) -> tuple[str, ...]:
        """Remove the groups, trying for `seconds` while processes that ended leave them; returns those that stay."""
        left: tuple[str, ...] = ()
        added = frozenset().union(*(_noted(group) for group in self.directories)) if self.layout.kind == "v2" else ()
        for _ in Deadline(seconds).every(_REMOVE_RETRY_SECONDS):
            for group in self._groups(self.removable):
                with contextlib.suppress(OSError):
                    group.rmdir()
            left = tuple(str(group) for group in self.removable if group.exists())
            if not left:
                break
        if not left:
            for controller in sorted(added):
                with contextlib.suppress(OSError):  # another group uses it
                    (self.layout.hierarchies[0].mountpoint / _SUBTREE).write_text(f"-{controller}")
            if self.layout.kind == "v2":
                self._undo_room()
        return left

    @staticmethod
    def _groups(tops: tuple[Path, ...]) -> Iterator[Path]:
        """Every group below `tops` and these themselves, children before parents."""
        for top in tops:
            for directory, _, _ in os.walk(top, topdown=False):
                yield Path(directory)


def _pids(group: Path) -> frozenset[int]:
    """Processes of a group; 0 is one outside of this process's pid namespace."""
    return frozenset(map(int, (group / _PROCESSES).read_text().split()))


def _enabled(group: Path) -> frozenset[str]:
    try:
        return frozenset((group / _SUBTREE).read_text().split())
    except FileNotFoundError:
        return frozenset()


def _noted(group: Path) -> frozenset[str]:
    try:
        return frozenset(os.getxattr(group, _NOTE).decode().split())
    except OSError:
        return frozenset()


def _kill(pid: int) -> None:
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
