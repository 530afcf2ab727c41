"""Whether a rehearsal cluster can run on a host: all obstacles in one go, before the first change. Pure.

Ports of the host do not matter: every daemon listens in the node's own network namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.host.facts import CAPABILITIES, Host
from kubeflow_volcano.rehearsal.node.cgroups import NEEDED_CONTROLLERS
from kubeflow_volcano.rehearsal.node.network import choose_subnet
from kubeflow_volcano.rehearsal.spec import RehearsalSpec, State
from kubeflow_volcano.text import counted, few

_MACHINES = ("x86_64", "aarch64")
_GIB = 1 << 30
_CLUSTER_BYTES = 4 * _GIB
_BUILD_BYTES, _MOST_BUILD_BYTES = {"kube": 5 * _GIB}, 9 * _GIB
"""Modules, compiled packages and programs; a tool that is not named takes 1 GiB, and all of them share packages."""
_INSTANCES, _WATCHES = 32, 8192
"""Measured: a cluster with Volcano and a training operator uses 22 inotify instances and 917 watches."""


def check_basics(host: Host) -> None:
    """Check for Linux and root, without which nothing else can be checked.

    Raises:
        InvalidInput: one is missing.
    """
    problems = [*_system(host)]
    if problems:
        raise InvalidInput(problems)


def check_host(host: Host, spec: RehearsalSpec, state: State | None, seed: str) -> None:
    """Check that a cluster of this specification can be built on a host; `seed` is the cluster's identity.

    `state` is that of an earlier `up` of the same cluster.

    Raises:
        InvalidInput: all obstacles.
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
    """Check that a running cluster can be changed to this specification.

    Raises:
        InvalidInput: it cannot.
    """
    problems = [*_earlier(host, spec, state)]
    if problems:
        raise InvalidInput(problems)


def _system(host: Host) -> Iterator[Problem]:
    if host.system != "Linux" or host.machine not in _MACHINES:
        yield Problem(
            f"this is {host.system} on {host.machine}.",
            f"Linux on {' or '.join(_MACHINES)}: the cluster consists of namespaces and control groups.",
            "run the rehearsal on such a machine, or in such a virtual machine.",
        )
    elif host.uid != 0:
        yield Problem(
            f"this process runs as user id {host.uid}.",
            "root, to mount file systems and to create namespaces and control groups.",
            "run the same command with sudo.",
        )


def _capabilities(host: Host) -> Iterator[Problem]:
    missing = [name for name, number in CAPABILITIES.items() if not host.capabilities >> number & 1]
    if missing and host.uid == 0:
        yield Problem(
            f"root lacks {', '.join(missing)}.",
            "these capabilities, to build a node and to run containers in it.",
            "run outside of the container that dropped them, or start it with --privileged.",
        )


def _cgroups(host: Host) -> Iterator[Problem]:
    missing = NEEDED_CONTROLLERS - host.layout.controllers
    if missing:
        yield Problem(
            f"the control group layout {host.layout.kind!r} lacks {counted(len(missing), 'controller')}: "
            f"{', '.join(sorted(missing))}.",
            f"{', '.join(sorted(NEEDED_CONTROLLERS))}, which the kubelet requires.",
            "mount them below /sys/fs/cgroup, or remove `cgroup_disable=` from the kernel's command line.",
        )
    if host.cgroup_trouble:
        yield Problem(
            f"{host.cgroup_trouble}.",
            "the right to create a control group at the top of every hierarchy.",
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
            "load the module that the message names (`modprobe -a veth bridge br_netfilter`), or use a kernel with it.",
        )
    if host.overlay_trouble:
        yield Problem(
            f"an overlay cannot be mounted on this disk: {host.overlay_trouble}.",
            "overlayfs on a file system such as ext4 or xfs, for the containers' root directories.",
            "point XDG_CACHE_HOME to a directory on such a disk (not an overlay, not NFS), or `modprobe overlay`.",
        )


def _disk(host: Host) -> Iterator[Problem]:
    building = min(_MOST_BUILD_BYTES, sum(_BUILD_BYTES.get(name, _GIB) for name in host.to_make))
    needed = _CLUSTER_BYTES + building
    if host.free_bytes < needed:
        what = f"the cluster and building {few(host.to_make)}" if host.to_make else "the cluster"
        yield Problem(
            f"{host.free_bytes / _GIB:.1f} GiB are free on the disk of the cache.",
            f"{needed / _GIB:.0f} GiB for {what}.",
            "free some space, or point XDG_CACHE_HOME to a bigger disk.",
        )


def _inotify(host: Host) -> Iterator[Problem]:
    if host.inotify_instances < _INSTANCES:
        yield Problem(
            f"this user can open {counted(host.inotify_instances, 'more inotify instance')}.",
            f"{_INSTANCES}, as kubelet, containerd and the controllers watch files.",
            "run `sysctl -w fs.inotify.max_user_instances=1024`, or remove other rehearsal clusters.",
        )
    if host.inotify_watches < _WATCHES:
        yield Problem(
            f"fs.inotify.max_user_watches is {host.inotify_watches}.",
            f"at least {_WATCHES}, as kubelet, containerd and the controllers watch files.",
            f"run `sysctl -w fs.inotify.max_user_watches={8 * _WATCHES}`.",
        )


def _earlier(host: Host, spec: RehearsalSpec, state: State | None) -> Iterator[Problem]:
    if host.mounts:
        yield Problem(
            f"the cluster's directory contains mounts: {', '.join(host.mounts)}.",
            "a directory without mounts of this namespace; those of a node are not visible in it.",
            f"run `umount {' '.join(host.mounts)}`.",
        )
    if state and state.spec.generation != spec.generation:
        yield Problem(
            f"the cluster {spec.name} has data of generation {state.spec.generation}.",
            f"no data, or that of generation {spec.generation}: etcd's data cannot be used by another one.",
            f"run `python -m kubeflow_volcano.rehearsal down --name {spec.name}` first, or choose another name.",
        )
