"""The facts of a host: frozen values of the answer of the module kfv_host_facts, and why some are missing."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.decode import DecodeError, Limits, decode


@dataclass(frozen=True, slots=True)
class Os:
    """os-release. Only `version` and `release_file` contain the service pack of openEuler."""

    id: str
    like: str
    version_id: str
    version: str
    name: str
    release_file: str


@dataclass(frozen=True, slots=True)
class Machine:
    """`architecture` as in uname (x86_64), `umask` in octal, `uid` of the process that collected the facts.

    `identity` is a sum of /etc/machine-id, empty where that file is missing.
    """

    architecture: str
    kernel: str
    hostname: str
    identity: str
    cpus: int
    memory_bytes: int
    python: str
    uid: int
    umask: str


@dataclass(frozen=True, slots=True)
class Modules:
    """Kernel modules. `states`: loaded, builtin, loadable, forbidden, absent or unknown; `at_boot`: loaded at boot."""

    kernel: str
    directory: bool
    states: Mapping[str, str]
    at_boot: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """The last value that a file sets for a kernel setting; both are empty where no file sets it."""

    value: str
    file: str


@dataclass(frozen=True, slots=True)
class Sysctl:
    """A kernel setting: now (empty where the kernel does not have it), after a boot, and after `sysctl --system`."""

    live: str
    boot: Written
    by_hand: Written


@dataclass(frozen=True, slots=True)
class Inotify:
    """Instances in use by real uid; not `complete` where some processes were hidden."""

    used: Mapping[str, int]
    complete: bool


@dataclass(frozen=True, slots=True)
class Cgroup:
    """`version` 0 means none. `delegated`: the controllers below the root of version 2."""

    version: int
    controllers: tuple[str, ...]
    delegated: tuple[str, ...]
    realtime_groups: bool | None


@dataclass(frozen=True, slots=True)
class Kubelet:
    """`program` is kubelet, k3s, rke2 or empty; fields without a configured value are empty or None."""

    program: str
    running: bool
    version: str
    config: str
    root: str
    endpoint: str
    cgroup_driver: str
    fail_swap_on: bool | None
    fail_cgroup_v1: bool | None
    protect_kernel_defaults: bool | None


@dataclass(frozen=True, slots=True)
class Runtime:
    """`name` is containerd, cri-o, docker, isulad or other; `origin` is where that comes from.

    `through` is cri-dockerd or dockershim, if the kubelet uses one to reach Docker; `config_version` 0 means no file;
    `config_readable`: containerd can read its own file.
    """

    name: str
    origin: str
    endpoint: str
    socket: bool
    through: str
    running: bool
    version: str
    cgroup_driver: str
    config: str
    config_version: int
    config_readable: bool | None
    sandbox: str
    root: str
    cri_v1: bool | None


@dataclass(frozen=True, slots=True)
class SELinux:
    """enforcing, permissive or disabled; `configured` for the next boot."""

    mode: str
    configured: str


@dataclass(frozen=True, slots=True)
class Firewall:
    """`active` services; `zones` are firewalld's active ones with their sources, or `zones_trouble` says why not."""

    active: tuple[str, ...]
    flushes: bool
    zones: Mapping[str, tuple[str, ...]]
    zones_trouble: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """Swap in use, in KiB."""

    name: str
    type: str
    kib: int


@dataclass(frozen=True, slots=True)
class Swap:
    """Swap in use, and the lines of fstab and the units that enable it at the next boot."""

    devices: tuple[Device, ...]
    fstab: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds since the epoch on the host, its time service, and whether the kernel calls the clock synchronised."""

    epoch: float
    service: str
    synchronised: bool


@dataclass(frozen=True, slots=True)
class Place:
    """The file system of a path, in bytes; `mode` is that of the path, empty where it does not exist."""

    path: str
    mode: str
    mount: str
    type: str
    options: tuple[str, ...]
    bytes: int
    free: int
    inodes: int
    inodes_free: int


@dataclass(frozen=True, slots=True)
class Name:
    """Addresses of a DNS name, or why there are none."""

    addresses: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class Proxy:
    """A variable, in capitals, of a daemon (`of`), from a file or a process (`where`)."""

    of: str
    where: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Networks:
    """CIDRs in the arguments of the control plane, separated by commas; empty on other hosts."""

    services: str
    pods: str


_LIMITS = Limits(text=4_000, items=5_000)
"""More than any honest host answers."""


class CannotLookError(Exception):
    """A part of a host's facts is missing; the message has the reason."""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All facts. A part that could not be collected is None, and `troubles` has the reason; read parts with `need`."""

    os: Os | None = None
    machine: Machine | None = None
    modules: Modules | None = None
    sysctls: Mapping[str, Sysctl] | None = None
    inotify: Inotify | None = None
    cgroup: Cgroup | None = None
    kubelet: Kubelet | None = None
    runtime: Runtime | None = None
    selinux: SELinux | None = None
    firewall: Firewall | None = None
    swap: Swap | None = None
    time: Time | None = None
    paths: Mapping[str, Place] | None = None
    names: Mapping[str, Name] | None = None
    connections: Mapping[str, str] | None = None
    """Why there is no connection to each address and port; empty where there is one."""
    proxies: tuple[Proxy, ...] | None = None
    networks: Networks | None = None
    troubles: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def decode(cls, data: Any) -> HostFacts:
        """The facts in the answer of the module. Never raises: a part of another shape is a trouble of that part."""
        answer: dict[str, Any] = data if isinstance(data, dict) else {}
        said = answer.get("troubles")
        told = {str(name): str(why)[:500] for name, why in said.items()} if isinstance(said, dict) else {}
        parts: dict[str, Any] = {}
        troubles: dict[str, str] = {}
        for name, kind in _PARTS.items():
            if name not in answer:
                troubles[name] = told.get(name, "the host did not answer this")
                continue
            try:
                parts[name] = decode(kind, answer[name], name, limits=_LIMITS)
            except DecodeError as error:
                troubles[name] = str(error)
        return cls(**parts, troubles=troubles)

    def need(self, name: str) -> Any:
        """The part of that name.

        Raises:
            CannotLookError: it is missing.
        """
        part = getattr(self, name)
        if part is None:
            raise CannotLookError(f"{name}: {self.troubles.get(name, 'not looked at')}")
        return part


_PARTS: Mapping[str, Any] = {
    name: typing.get_args(hint)[0] for name, hint in typing.get_type_hints(HostFacts).items() if name != "troubles"
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a host has no facts: `kind` is reach, become, python or module; `message` is Ansible's."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the inventory, with its facts or the reason why it has none.

    `sent` and `received` are the times of the question and the answer, in seconds since the epoch on the controller.
    """

    name: str
    node_name: str
    groups: frozenset[str] = frozenset()
    facts: HostFacts | None = None
    trouble: Trouble | None = None
    sent: float = 0.0
    received: float = 0.0

    @classmethod
    def decode(cls, name: str, node_name: str, groups: frozenset[str], answer: Any) -> Host:
        """The host in the result of the step look of kfv_host_preflight. Never raises."""
        facts: dict[str, Any] = answer if isinstance(answer, dict) else {}
        trouble = facts.get("trouble")
        if "facts" not in facts or trouble:
            said = trouble if isinstance(trouble, dict) else {}
            why = Trouble(str(said.get("kind", "module")), str(said.get("message", "it was not looked at"))[:500])
            return cls(name, node_name, groups, trouble=why)
        times = [
            float(item) if isinstance(item := facts.get(key), int | float) else 0.0 for key in ("sent", "received")
        ]
        return cls(name, node_name, groups, HostFacts.decode(facts["facts"]), None, *times)
