"""Whether a rehearsal cluster can run on a host: every obstacle at once, before the first change. Pure.

No port of the host is among the questions: every daemon listens in the node's own network namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.host.facts import CAPABILITIES, Host
from kubeflow_volcano.rehearsal.node.cgroups import NEEDED_CONTROLLERS
from kubeflow_volcano.rehearsal.node.network import choose_subnet
from kubeflow_volcano.rehearsal.spec import RehearsalSpec, State

__all__ = ["check_basics", "check_earlier", "check_host"]

_MACHINES = ("x86_64", "aarch64")
_GIB = 1 << 30
_CLUSTER_BYTES, _BUILD_BYTES = 4 * _GIB, 9 * _GIB
_INSTANCES, _WATCHES = 32, 8192
"""A cluster with Volcano and a training operator was seen to use 22 inotify instances and 917 watches."""


def check_basics(host: Host) -> None:
    """See that it is Linux, and that root asks: without these nothing else can be found out.

    Raises:
        InvalidInput: it is not.
    """
    problems = [*_system(host)]
    if problems:
        raise InvalidInput(problems)


def check_host(host: Host, spec: RehearsalSpec, state: State | None, seed: str) -> None:
    """See that a cluster of this specification can be built on a host; `seed` is the cluster's identity.

    `state` is what an earlier `up` of the same cluster left.

    Raises:
        InvalidInput: every obstacle.
    """
    problems = [
        *_system(host),
        *_capabilities(host),
        *_cgroups(host),
        *_network(host, seed),
        *_disk(host),
        *_inotify(host),
        *host.missing_packages,
        *_earlier(host, spec, state),
    ]
    if problems:
        raise InvalidInput(problems)


def check_earlier(host: Host, spec: RehearsalSpec, state: State | None) -> None:
    """See that a running cluster can become one of this specification.

    Raises:
        InvalidInput: it can't.
    """
    problems = [*_earlier(host, spec, state)]
    if problems:
        raise InvalidInput(problems)


def _system(host: Host) -> Iterator[Problem]:
    if host.system != "Linux" or host.machine not in _MACHINES:
        yield Problem(
            f"this is {host.system} on {host.machine}.",
            f"Linux on {' or '.join(_MACHINES)}: the cluster is made of namespaces and control groups.",
            "run the rehearsal on such a machine, or in such a virtual machine.",
        )
    elif host.uid != 0:
        yield Problem(
            f"user id {host.uid}.",
            "root: a node mounts, makes namespaces and control groups.",
            "run the same command with sudo.",
        )


def _capabilities(host: Host) -> Iterator[Problem]:
    missing = [name for name, number in CAPABILITIES.items() if not host.capabilities >> number & 1]
    if missing and host.uid == 0:
        yield Problem(
            f"root without {', '.join(missing)}.",
            "these capabilities, to build a node and to run containers in it.",
            "leave the container that took them away, or start it with --privileged.",
        )


def _cgroups(host: Host) -> Iterator[Problem]:
    missing = NEEDED_CONTROLLERS - host.layout.controllers
    if missing:
        yield Problem(
            f"the control group layout is {host.layout.kind!r} and lacks the controllers {', '.join(sorted(missing))}.",
            f"{', '.join(sorted(NEEDED_CONTROLLERS))}, which the kubelet needs.",
            "mount them below /sys/fs/cgroup, or remove `cgroup_disable=` from the kernel's command line.",
        )
    if host.cgroup_trouble:
        yield Problem(
            f"{host.cgroup_trouble}.",
            "a control group of the cluster's own at the top of every hierarchy.",
            "run on the host itself, or in a container with --privileged and --cgroupns=host.",
        )


def _network(host: Host, seed: str) -> Iterator[Problem]:
    try:
        choose_subnet(seed, host.networks)
    except InvalidInput as error:
        yield from error.problems
    if host.network_trouble:
        yield Problem(
            f"{host.network_trouble}.",
            "veth, bridge and br_netfilter, and the iptables matches that kube-proxy uses.",
            "load what the message names (`modprobe veth bridge br_netfilter`), or use a kernel that has it.",
        )
    if host.overlay_trouble:
        yield Problem(
            f"an overlay can't be mounted on this disk: {host.overlay_trouble}.",
            "overlayfs on a file system such as ext4 or xfs, for the containers' root directories.",
            "point XDG_CACHE_HOME to a directory on such a disk (not an overlay, not NFS), or `modprobe overlay`.",
        )


def _disk(host: Host) -> Iterator[Problem]:
    needed = _CLUSTER_BYTES + (0 if host.tools_present else _BUILD_BYTES)
    if host.free_bytes < needed:
        what = "the cluster" if host.tools_present else "the cluster and building its tools"
        yield Problem(
            f"{host.free_bytes / _GIB:.1f} GiB free on the cache's disk.",
            f"{needed / _GIB:.0f} GiB for {what}.",
            "free some, or point XDG_CACHE_HOME to a bigger disk.",
        )


def _inotify(host: Host) -> Iterator[Problem]:
    if host.inotify_instances < _INSTANCES:
        yield Problem(
            f"{host.inotify_instances} inotify instances are left to this user.",
            f"{_INSTANCES}: kubelet, containerd and the controllers watch files.",
            "`sysctl -w fs.inotify.max_user_instances=1024`, or end other rehearsal clusters.",
        )
    if host.inotify_watches < _WATCHES:
        yield Problem(
            f"fs.inotify.max_user_watches is {host.inotify_watches}.",
            f"at least {_WATCHES}, for the same programs.",
            f"`sysctl -w fs.inotify.max_user_watches={8 * _WATCHES}`.",
        )


def _earlier(host: Host, spec: RehearsalSpec, state: State | None) -> Iterator[Problem]:
    if host.mounts:
        yield Problem(
            f"something is mounted in the cluster's directory: {', '.join(host.mounts)}.",
            "a directory that is this cluster's alone; a node's own mounts are invisible from here.",
            "find out who mounted it, and unmount it.",
        )
    if state and state.spec.generation != spec.generation:
        yield Problem(
            f"the cluster {spec.name} holds data of generation {state.spec.generation}.",
            f"none, or that of generation {spec.generation}: etcd's data does not go back and forth between them.",
            f"`python -m kubeflow_volcano.rehearsal down --name {spec.name}` first, or choose another name.",
        )
