"""The start of the node's first process. Runs as a program of its own and needs no installed package.

`enter PLAN` joins the cluster's control groups and becomes `unshare`, which starts `build PLAN` as process 1 of new
namespaces. `build` waits for `go` on its standard input: the host's end of the veth pair exists then. End of file means
that the caller died, and ends it. It builds the node's root, moves into it and becomes the supervisor.

PLAN is a JSON file; its keys are the fields of `Plan`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SIMULATED_NETWORK = "simulated"
"""Name of the network namespace to which the addresses of simulated pods are routed."""
_NEAR, _FAR = "169.254.20.1", "169.254.20.2"

_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_DIRECTORIES = (
    "dev",
    "etc",
    "home",
    "host",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var/lib",
)


@dataclass(frozen=True, slots=True)
class Bind:
    """A directory of the host that the node sees read-only as `target`."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The node's root, network and first program."""

    root: str
    joins: list[str]
    binds: list[Bind]
    hostname: str
    address: str
    service_range: str
    simulated_range: str
    stub_port: int
    """Where connections to `simulated_range` end, in the network called SIMULATED_NETWORK."""
    own_port: int
    """Where only the node itself may connect: kwok requires no credentials."""
    sysctls: dict[str, str]
    """Kernel-wide settings that the kubelet requires; the node sees files instead, the host's values stay."""
    own_sysctls: dict[str, str]
    """Settings of the node's own network namespace."""
    command: list[str]
    environment: dict[str, str]

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Read a plan that `dataclasses.asdict` and `json` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        return cls(**(raw | {"binds": [Bind(**bind) for bind in raw["binds"]]}))


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system; `options` are those of the file system itself."""

    point: Path
    kind: str
    options: tuple[str, ...]


def read_mounts(mountinfo: str) -> Iterator[Mount]:
    """The mounts in the text of a mountinfo file (proc_pid_mountinfo(5)), in its order."""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        yield Mount(Path(_unescaped(left.split()[4])), kind, tuple(options.split(",")))


def mounts_below(directory: Path) -> tuple[str, ...]:
    """Mount points in or below `directory`, in the mount namespace of this process."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return tuple(
        dict.fromkeys(str(mount.point) for mount in read_mounts(text) if mount.point.is_relative_to(directory))
    )


def _unescaped(field: str) -> str:
    """Spaces, tabs, newlines and backslashes are written as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def enter(plan_file: Path) -> None:
    """Leave the caller, join the control groups, then become `unshare` with this module's `build` as process 1."""
    if os.fork():
        os._exit(0)
    os.setsid()
    for path in Plan.load(plan_file).joins:
        Path(path).write_text("0", encoding="utf-8")
    program = [sys.executable, *_INTERPRETER, "-m", "kubeflow_volcano.rehearsal.inside.boot", "build", str(plan_file)]
    namespaces = ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL"]
    os.execvp("unshare", ["unshare", *namespaces, *program])  # noqa: S606  becoming that program is the point


_INTERPRETER = ("-S", "-P", "-B")


def build(plan_file: Path) -> None:
    """Build the node around this process and become its supervisor. Runs as process 1 of the new namespaces."""
    plan = Plan.load(plan_file)
    if sys.stdin.readline() != "go\n":
        sys.exit("the caller ended before the node was connected")
    root = Path(plan.root)
    _mount("--make-rprivate", "/")
    _populate(root, plan)
    _move_into(root)
    _network(plan)
    _simulated_network(plan)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.execve(plan.command[0], plan.command, plan.environment)  # noqa: S606  as above


def _populate(root: Path, plan: Plan) -> None:
    _mount("--bind", str(root), str(root))
    for name in _DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in _MERGED:
        _copy_layout(root, name)
    if not (root / "var/run").is_symlink():
        (root / "var/run").symlink_to("../run")
    for bind in (Bind("/usr", "/usr"), *plan.binds):
        _read_only(bind.source, root / bind.target.lstrip("/"))
    for name in ("dev", "sys"):
        _mount("--rbind", f"/{name}", str(root / name))
    _mount("-t", "proc", "proc", str(root / "proc"))
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(root / "run"))
    (root / "run/lock").mkdir()
    for key, value in plan.sysctls.items():
        stand_in = root / "run/sysctl" / key.replace("/", ".")
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text(f"{value}\n")
        if (root / "proc/sys" / key).exists():
            _mount("--bind", str(stand_in), str(root / "proc/sys" / key))
    for name in ("ld.so.cache", "ld.so.conf", "localtime"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), root / "etc" / name)


def _copy_layout(root: Path, name: str) -> None:
    """Make `/bin` and the like a link where the host has one (merged /usr), else bind the host's directory."""
    host, inside = Path("/", name), root / name
    if host.is_symlink():
        if not inside.is_symlink():
            inside.symlink_to(str(host.readlink()).lstrip("/"))
    elif host.is_dir():
        _read_only(str(host), inside)


def _read_only(source: str, target: Path) -> None:
    """Bind a directory with all that is mounted below it, and write-protect each of these mounts."""
    target.mkdir(parents=True, exist_ok=True)
    _mount("--rbind", source, str(target))
    for point in mounts_below(target):
        _mount("-o", "remount,bind,ro", point)


def _move_into(root: Path) -> None:
    os.chdir(root)
    Path("old").mkdir(exist_ok=True)
    _run("pivot_root", ".", "old")
    os.chroot(".")
    os.chdir("/")
    _run("umount", "--lazy", "/old")
    Path("/old").rmdir()
    _mount("--make-rshared", "/")  # pods with mountPropagation, and the kubelet's own volumes, need a shared tree


def _network(plan: Plan) -> None:
    _run("hostname", plan.hostname)
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "address", "add", plan.address, "dev", "eth0")
    _run("ip", "link", "set", "eth0", "up")
    # There is no default route: nothing leaves the node. Service addresses need a route before they are rewritten.
    _run("ip", "route", "add", plan.service_range, "dev", "eth0")
    _run("iptables", "-A", "INPUT", "-p", "tcp", "--dport", str(plan.own_port), "!", "-i", "lo", "-j", "REJECT")
    for key, value in plan.own_sysctls.items():
        Path("/proc/sys", key).write_text(value, encoding="utf-8")


def _simulated_network(plan: Plan) -> None:
    """Redirect every TCP connection to a simulated pod, on any port, to one port in a network namespace of its own.

    The node's own namespace cannot do this: kube-proxy has translated the address before another rule sees the packet,
    and a connection is translated once per namespace.
    """
    name = SIMULATED_NETWORK
    _run("ip", "netns", "add", name)
    _run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
    _run("ip", "address", "add", f"{_NEAR}/30", "dev", name)
    _run("ip", "link", "set", name, "up")
    _run("ip", "route", "add", plan.simulated_range, "via", _FAR)
    _run("ip", "-n", name, "address", "add", f"{_FAR}/30", "dev", "eth0")
    _run("ip", "-n", name, "link", "set", "eth0", "up")
    _run("ip", "-n", name, "route", "add", "default", "via", _NEAR)
    redirect = ("-t", "nat", "-A", "PREROUTING", "-p", "tcp", "-j", "REDIRECT", "--to-ports", str(plan.stub_port))
    _run("nsenter", f"--net=/run/netns/{name}", "iptables", *redirect)


def _mount(*arguments: str) -> None:
    _run("mount", *arguments)


def _run(*command: str) -> None:
    """Run a command; the node ends with a line about it if it fails."""
    try:
        code = subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode
    except OSError as error:
        sys.exit(f"`{' '.join(command)}` cannot be run: {error.strerror or error}")
    if code:
        sys.exit(f"`{' '.join(command)}` failed with exit code {code}; the lines above say why")


if __name__ == "__main__":
    {"enter": enter, "build": build}[sys.argv[1]](Path(sys.argv[2]))
