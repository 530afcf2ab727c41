"""Small literals for tests of host checks: a host on which all is well, and facts made of such hosts."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.hosts.facts import Host
from kubeflow_volcano.hosts.kernel import SYSCTLS
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from tests.samples.facts import NOW

GB = 1000**3
_MODULES = ("overlay", "nf_conntrack", "br_netfilter")


def answer(**parts: Any) -> dict[str, Any]:
    """What the module kfv_host_facts says of a good host; `parts` replace keys of a part each, None drops it."""
    found = copy.deepcopy(_GOOD)
    for name, changes in parts.items():
        if changes is None:
            del found[name]
        elif isinstance(found[name], dict) and isinstance(changes, Mapping):
            found[name] |= changes
        else:
            found[name] = changes
    return found


def host(name: str = "n1", *, groups: Iterable[str] = (), took: float = 0.2, **parts: Any) -> Host:
    """A host that answered `took` seconds after it was asked; `parts` as of `answer`."""
    if isinstance(machine := parts.get("machine", {}), Mapping):
        parts["machine"] = {"hostname": name, "identity": name, **machine}
    looked = {"facts": answer(**parts), "sent": NOW - took / 2, "received": NOW + took / 2}
    return Host.decode(name, name, frozenset(groups), looked)


def broken(name: str, kind: str, message: str) -> Host:
    """A host that did not answer."""
    return Host.decode(name, name, frozenset(), {"trouble": {"kind": kind, "message": message}})


def facts(*hosts: Host, nodes: Iterable[Object] = (), server: str = "", **inventory: Any) -> Facts:
    """Facts of these hosts, and of a cluster with these nodes where `server` is its version."""
    known: dict[str, Any] = {"kubernetes": "1.30.2", "minimum_cpu": 4, "minimum_memory_gb": 12} | inventory
    return Facts(
        Expectations(release="1.9.1", kubernetes=MinorRange("1.29", "1.31")),
        NOW,
        server_version=server,
        objects={"nodes": tuple(nodes)},
        inventory=Inventory(tuple(hosts), **known),
    )


def sysctl(live: str, boot: tuple[str, str] = ("", ""), by_hand: tuple[str, str] | None = None) -> dict[str, Any]:
    """A kernel setting; `boot` and `by_hand` are value and file of the last writer."""

    def written(pair: tuple[str, str]) -> dict[str, str]:
        return {"value": pair[0], "file": pair[1]}

    return {"live": live, "boot": written(boot), "by_hand": written(boot if by_hand is None else by_hand)}


def place(path: str, **changes: Any) -> dict[str, Any]:
    """A file system of 100 GB, half of it free."""
    usual = {
        "path": path,
        "mode": "0711",
        "mount": "/",
        "type": "xfs",
        "options": ["relatime", "rw"],
        "bytes": 100 * GB,
        "free": 50 * GB,
        "inodes": 1000,
        "inodes_free": 900,
    }
    return usual | changes


_GOOD: dict[str, Any] = {
    "os": {
        "id": "openEuler",
        "like": "",
        "version_id": "24.03",
        "version": "24.03 (LTS)",
        "name": "openEuler 24.03 (LTS)",
        "release_file": "openEuler release 24.03 (LTS)",
    },
    "machine": {
        "architecture": "x86_64",
        "kernel": "6.6.0-28.0.0.34.oe2403.x86_64",
        "hostname": "n1",
        "identity": "n1",
        "cpus": 8,
        "memory_bytes": 32 * GB,
        "python": "3.11.6",
        "uid": 0,
        "umask": "0077",
    },
    "modules": {
        "kernel": "6.6.0-28.0.0.34.oe2403.x86_64",
        "directory": True,
        "states": dict.fromkeys(_MODULES, "loaded"),
        "at_boot": list(_MODULES),
    },
    "sysctls": {
        item.name: sysctl(
            str(max(item.least, item.better)), (str(max(item.least, item.better)), "/etc/sysctl.d/k.conf")
        )
        for item in SYSCTLS
    },
    "inotify": {"used": {"0": 90}, "complete": True},
    "cgroup": {
        "version": 1,
        "controllers": ["cpu", "memory", "pids"],
        "delegated": [],
        "realtime_groups": True,
    },
    "kubelet": {
        "program": "kubelet",
        "running": True,
        "version": "1.30.2",
        "config": "/var/lib/kubelet/config.yaml",
        "root": "/var/lib/kubelet",
        "endpoint": "unix:///run/containerd/containerd.sock",
        "cgroup_driver": "systemd",
        "fail_swap_on": None,
        "fail_cgroup_v1": None,
        "protect_kernel_defaults": None,
    },
    "runtime": {
        "name": "containerd",
        "origin": "kubelet",
        "endpoint": "unix:///run/containerd/containerd.sock",
        "socket": True,
        "through": "",
        "running": True,
        "version": "1.7.27",
        "cgroup_driver": "systemd",
        "config": "/etc/containerd/config.toml",
        "config_version": 2,
        "config_readable": True,
        "sandbox": "registry.k8s.io/pause:3.8",
        "root": "/var/lib/containerd",
        "cri_v1": None,
    },
    "selinux": {"mode": "permissive", "configured": "permissive"},
    "firewall": {"active": [], "flushes": False, "zones": {}},
    "swap": {"devices": [], "fstab": [], "units": []},
    "time": {"epoch": NOW, "service": "chronyd", "synchronised": True},
    "paths": {
        "images": place("/var/lib/containerd"),
        "kubelet": place("/var/lib/kubelet"),
        "volumes": place("/opt/local-path-provisioner"),
    },
    "names": {"reg.lan": {"addresses": ["192.0.2.7"], "error": ""}},
    "connections": {},
    "proxies": [],
    "networks": {"services": "", "pods": ""},
    "troubles": {},
}
