"""The container runtime behind the kubelet of this host. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import containerd, programs
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import exists, listed, read
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kernel import UNIFIED, look_cgroup
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kubelet import endpoint_of, settings_of
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import Process

_SOCKETS = {
    "cri-dockerd": "docker",
    "dockershim": "docker",
    "crio": "cri-o",
    "isulad": "isulad",
    "containerd": "containerd",
}
_DAEMONS = {"containerd": "containerd", "crio": "cri-o", "isulad": "isulad", "dockerd": "docker"}


def runtime_at(endpoint: str) -> str:
    """Name of the runtime that listens there: docker, cri-o, isulad, containerd or other; empty without an endpoint."""
    return next((name for word, name in _SOCKETS.items() if word in endpoint), "other" if endpoint else "")


def look_runtime(daemons: Mapping[str, Process], kubelet: Mapping[str, Any]) -> dict[str, Any]:
    """The runtime that the kubelet uses; without a kubelet, the one that runs or is installed."""
    endpoint = endpoint_of(kubelet, daemons)
    name, origin = runtime_at(endpoint), "kubelet"
    if not endpoint:
        origin = "running" if any(daemon in daemons for daemon in _DAEMONS) else "installed"
        there = [
            _DAEMONS[word]
            for word in _DAEMONS
            if (word in daemons if origin == "running" else programs.find_program(word))
        ]
        name = ("docker" if "docker" in there and origin == "running" else there[0]) if there else ""
    look = {"containerd": _containerd, "cri-o": _crio, "docker": _docker, "isulad": _isulad}.get(name)
    path = endpoint.partition("://")[2] or endpoint
    return {
        "name": name,
        "origin": origin if name else "",
        "endpoint": endpoint,
        "socket": exists(path) if path else False,
        "through": "cri-dockerd" if "cri-dockerd" in endpoint else "dockershim" if "dockershim" in endpoint else "",
        "running": False,
        "version": "",
        "cgroup_driver": "",
        "config": "",
        "config_version": 0,
        "config_readable": None,
        "sandbox": "",
        "root": "",
        "cri_v1": None,
        **(look(daemons) if look else {}),
    }


def _version(program: str) -> str:
    return programs.version_in(programs.run([program, "--version"], programs.BRIEF_SECONDS).output)


def _containerd(_daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As containerd itself merges its files; where it cannot read them, as its main file says."""
    daemon = containerd.find_daemon(containerd.unit())
    own = read(daemon.config)
    merged, _ = containerd.dump(daemon.running, daemon.config)
    settings = containerd.chosen(merged or own)
    driver = settings["drivers"].get(settings.get("default_runtime_name") or "runc", "cgroupfs" if merged else "")
    version = re.search(r"(?m)^version\s*=\s*(\d+)", own)
    return {
        "running": bool(daemon.pid),
        "version": _version(daemon.running),
        "cgroup_driver": driver,
        "config": daemon.config if own else "",
        "config_version": int(version.group(1)) if version else 1 if own.strip() else 0,
        "config_readable": bool(merged) if own else None,
        "sandbox": settings["sandbox"],
        "root": settings.get("root") or "/var/lib/containerd",
    }


def _crio(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As its files say; the default driver is systemd's."""
    driver = "systemd"
    for path in ["/etc/crio/crio.conf", *listed("/etc/crio/crio.conf.d", ".conf")]:
        for _, key, value in containerd.toml_pairs(read(path)):
            driver = value if key == "cgroup_manager" else driver
    return {**_daemon(daemons, "crio"), "cgroup_driver": driver, "root": "/var/lib/containers/storage"}


def _docker(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As daemon.json says; the default driver is systemd's on cgroup v2, and cgroupfs on v1."""
    settings = settings_of(read("/etc/docker/daemon.json"))
    options = [str(item) for item in settings.get("exec-opts") or []]
    drivers = [item.partition("=")[2] for item in options if item.startswith("native.cgroupdriver=")]
    default = "systemd" if look_cgroup()["version"] == UNIFIED else "cgroupfs"
    return {
        **_daemon(daemons, "dockerd"),
        "cgroup_driver": drivers[-1] if drivers else default,
        "config": "/etc/docker/daemon.json" if settings else "",
        "root": str(settings.get("data-root") or "/var/lib/docker"),
    }


def _isulad(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As daemon.json says; CRI v1 is off by default."""
    settings = settings_of(read("/etc/isulad/daemon.json"))
    return {
        **_daemon(daemons, "isulad"),
        "cgroup_driver": "systemd" if settings.get("systemd-cgroup") is True else "cgroupfs",
        "config": "/etc/isulad/daemon.json" if settings else "",
        "root": str(settings.get("graph") or "/var/lib/isulad"),
        "sandbox": str(settings.get("pod-sandbox-image") or ""),
        "cri_v1": settings.get("enable-cri-v1") is True,
    }


def _daemon(daemons: Mapping[str, Process], name: str) -> dict[str, Any]:
    daemon = daemons.get(name)
    return {"running": daemon is not None, "version": _version(daemon.program if daemon else name)}
