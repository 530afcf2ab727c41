"""What this machine offers, read without changing anything; preflight judges it."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from pathlib import Path

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.programs import ProgramError, run_program
from kubeflow_volcano.rehearsal.host.packages import missing_packages
from kubeflow_volcano.rehearsal.inside.boot import mounts_below
from kubeflow_volcano.rehearsal.node.cgroups import Layout, read_layout
from kubeflow_volcano.rehearsal.node.network import busy_networks
from kubeflow_volcano.rehearsal.spec import ClusterPaths

CAPABILITIES = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_FOWNER": 3,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_SYS_CHROOT": 18,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_MKNOD": 27,
}
"""Required to build a node and to run containers in it; numbers of linux/capability.h."""
_CAP_SYS_RESOURCE = 24
_PROBE_SECONDS = 30
_ENOUGH_INSTANCES = 64
_SYSTEM = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
_IPTABLES_TRIAL = """\
*nat
:TRIAL - [0:0]
-A TRIAL -m comment --comment "as kube-proxy does" -m addrtype --dst-type LOCAL -j RETURN
-A TRIAL -p tcp -m statistic --mode random --probability 0.5 -j DNAT --to-destination 192.0.2.1:80
-A TRIAL -j MARK --or-mark 0x4000
-A TRIAL -m mark --mark 0x4000/0x4000 -j MASQUERADE --random-fully
COMMIT
*filter
:TRIAL - [0:0]
-A TRIAL -m conntrack --ctstate NEW,RELATED,ESTABLISHED -j REJECT
COMMIT
"""
"""One rule per kernel feature that kube-proxy's iptables mode uses (pkg/proxy/iptables/proxier.go)."""


@dataclass(frozen=True, slots=True)
class Host:
    """What a machine offers. `look_closely` fills the fields with defaults; a `..._trouble` is empty if all is well."""

    system: str
    machine: str
    uid: int
    capabilities: int
    layout: Layout = field(default_factory=lambda: Layout("none", ()))
    cgroup_trouble: str = ""
    networks: tuple[IPv4Network, ...] = ()
    network_trouble: str = ""
    overlay_trouble: str = ""
    free_bytes: int = 0
    to_make: tuple[str, ...] = ()
    inotify_instances: int = 0
    inotify_watches: int = 0
    missing_packages: tuple[Problem, ...] = ()
    mounts: tuple[str, ...] = ()

    @property
    def may_lower_oom_score(self) -> bool:
        """Whether this process has CAP_SYS_RESOURCE."""
        return bool(self.capabilities >> _CAP_SYS_RESOURCE & 1)


def look_at_host() -> Host:
    """The system, the machine, and the user and capabilities of this process; runs no program."""
    return Host(platform.system(), platform.machine(), os.geteuid(), _effective_capabilities())


def look_closely(paths: ClusterPaths, to_make: Collection[str]) -> Host:
    """Everything that the cluster at `paths` needs. Trials run in namespaces of their own, which end with them.

    `to_make` names the tools that are still to be built.
    """
    disk = nearest_directory(paths.home)
    capable = all(_effective_capabilities() >> number & 1 for number in CAPABILITIES.values())
    return replace(
        look_at_host(),
        layout=(layout := read_layout()),
        cgroup_trouble=_cgroup_trouble(layout),
        networks=busy_networks(paths.interface, paths.identity) if shutil.which("ip") else (),
        network_trouble=_network_trouble() if capable else "",
        overlay_trouble=_overlay_trouble(disk) if capable else "",
        free_bytes=shutil.disk_usage(disk).free,
        to_make=tuple(to_make),
        inotify_instances=_free_inotify_instances(_ENOUGH_INSTANCES),
        inotify_watches=int(Path("/proc/sys/fs/inotify/max_user_watches").read_text(encoding="utf-8")),
        missing_packages=tuple(missing.problem() for missing in missing_packages(to_make)),
        mounts=mounts_below(paths.home),
    )


def nearest_directory(path: Path) -> Path:
    """`path`, or the first directory above it that exists."""
    return next(place for place in (path, *path.parents) if place.is_dir())


def _effective_capabilities() -> int:
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:  # not Linux, which preflight reports
        return 0
    return next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)


def _free_inotify_instances(most: int) -> int:
    """How many instances this user can still open, up to `most`; all of the user's programs share the limit."""
    libc = ctypes.CDLL(None)
    opened: list[int] = []
    try:
        while len(opened) < most and (descriptor := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
            opened.append(descriptor)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return len(opened)


def _cgroup_trouble(layout: Layout) -> str:
    closed = [str(h.mountpoint) for h in layout.hierarchies if not os.access(h.mountpoint, os.W_OK)]
    if closed:
        return f"{', '.join(closed)} {'is' if len(closed) == 1 else 'are'} not writable"
    if layout.kind == "v2":
        top = layout.hierarchies[0].mountpoint
        # What is in a container's top group is moved; a process outside of this pid namespace, read as 0, cannot be.
        if (top / "cgroup.type").exists() and "0" in (top / "cgroup.procs").read_text().split():
            return f"{top} is not the root of its hierarchy and has processes that are not visible here"
    return ""


def _network_trouble() -> str:
    """Try in a network namespace of its own what the node's network needs."""
    trials = (
        (["ip", "link", "add", "trial0", "type", "veth", "peer", "name", "trial1"], ""),
        (["ip", "link", "add", "trial0", "type", "bridge"], ""),
        (["iptables-restore"], _IPTABLES_TRIAL),
    )
    for command, text in trials:
        if trouble := _trial(["unshare", "--net", *command], text):
            return f"`{' '.join(command)}` failed: {trouble}"
    if not Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists():
        return "the kernel module br_netfilter is not loaded"
    return ""


def _overlay_trouble(disk: Path) -> str:
    """Try to mount an overlay whose layers are on the disk that the cluster will use."""
    with tempfile.TemporaryDirectory(prefix=".overlay-trial-", dir=disk) as home:
        for name in ("lower", "upper", "work", "merged"):
            Path(home, name).mkdir()
        options = "lowerdir=lower,upperdir=upper,workdir=work"
        mount = ["mount", "-t", "overlay", "-o", options, "trial", "merged"]
        trouble = _trial(["unshare", "--mount", *mount], "", home)
        if (work := Path(home, "work/work")).exists():
            work.chmod(0o700)  # overlay leaves it without any permission
    return trouble


def _trial(command: list[str], text: str, directory: str = "/") -> str:
    """Run a command in a directory; returns why it failed, or nothing."""
    try:
        done = run_program(*command, seconds=_PROBE_SECONDS, text=text, directory=directory, environment=_SYSTEM)
    except ProgramError as error:
        return str(error)
    return " ".join(done.complaint.split())[-300:] if done.code else ""
