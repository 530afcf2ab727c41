"""What was seen of a node's containerd, and why it cannot be configured."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.hosts.facts import Kubelet, Runtime
from kubeflow_volcano.problems import Problem

_GENERATORS = {
    "k3s": ("/etc/rancher/k3s/registries.yaml", "k3s"),
    "rke2": ("/etc/rancher/rke2/registries.yaml", "rke2-server or rke2-agent"),
}
_INSTEAD = {
    "docker": (
        "Docker, whose mirrors work for Docker Hub only",
        "use image_mirror_mode: rewrite, which changes no node.",
    ),
    "cri-o": (
        "CRI-O, which does not read hosts.toml",
        "write them into /etc/containers/registries.conf.d/ ([[registry.mirror]]), or use image_mirror_mode: rewrite.",
    ),
    "isulad": (
        "iSulad, which does not read hosts.toml",
        "use image_mirror_mode: rewrite, which changes no node.",
    ),
}


@dataclass(frozen=True, slots=True)
class Directory:
    """A registry's directory below config_path: its hosts.toml, or None, and the names of all other files."""

    hosts: bytes | None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """The answer of the module kfv_containerd to the step look.

    `config` is the main file's path, `files` the content of it and its imports, `matching` the paths that match each
    pattern of imports. `trees` has the directories below each config_path, by name. `newer` are files that were changed
    since containerd started. `info` is the configuration that the CRI plugin runs with. `unfinished` are files of an
    interrupted change. `authority` is the content of the mirror's authority on the node, or None.
    """

    config: str
    version: str = ""
    service: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    matching: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trees: Mapping[str, Mapping[str, Directory]] = field(default_factory=dict)
    dump: str = ""
    dump_error: str = ""
    newer: Sequence[str] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    unfinished: Sequence[str] = ()
    authority: bytes | None = None

    @classmethod
    def decode(cls, answer: Mapping[str, Any]) -> Look:
        """From the module's answer, in which contents of files are in base64."""
        plain = {key: value for key, value in answer.items() if key in cls.__dataclass_fields__}
        plain["files"] = {path: base64.b64decode(text) for path, text in answer.get("files", {}).items()}
        plain["trees"] = {
            path: {
                name: Directory(
                    base64.b64decode(found["hosts"]) if found["hosts"] is not None else None, tuple(found["others"])
                )
                for name, found in tree.items()
            }
            for path, tree in answer.get("trees", {}).items()
        }
        plain["authority"] = base64.b64decode(text) if (text := answer.get("authority")) is not None else None
        return cls(**plain)

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor version of containerd; (0, 0) where it is unknown."""
        numbers = self.version.lstrip("v").split(".")[:2]
        return (int(numbers[0]), int(numbers[1])) if len(numbers) > 1 and all(map(str.isdigit, numbers)) else (0, 0)


def runtime_problems(runtime: Runtime, kubelet: Kubelet) -> Iterator[Problem]:
    """Why the kubelet's runtime does not read the hosts.toml files that are written here, and what to do instead."""
    source = f"{runtime.origin}: {runtime.endpoint or runtime.name}" if runtime.origin else runtime.endpoint
    generator = next((name for name in _GENERATORS if name == kubelet.program), "")
    if not generator and "/run/k3s/" in runtime.endpoint:
        generator = "k3s"
    if generator:
        path, service = _GENERATORS[generator]
        yield Problem(
            f"the node runs {generator}, which overwrites containerd's configuration at each start ({source}).",
            "a containerd whose configuration no other program overwrites.",
            f"name the mirrors in {path} and restart {service}, or use image_mirror_mode: rewrite.",
        )
    elif runtime.through or runtime.name in _INSTEAD:
        through = f" through {runtime.through}" if runtime.through else ""
        what, todo = _INSTEAD["docker" if runtime.through else runtime.name]
        yield Problem(f"the node runs {what} ({source}{through}).", "containerd as the kubelet's runtime.", todo)
    elif runtime.name != "containerd":
        yield Problem(
            f"no known container runtime ({source or 'no kubelet, and no runtime is installed'}).",
            "containerd as the kubelet's runtime.",
            "install containerd and start it, or use image_mirror_mode: rewrite, which changes no node.",
        )


def unit_problems(service: Mapping[str, str]) -> Iterator[Problem]:
    """Why systemd cannot restart containerd, or would kill the node's pods with it (containerd's docs/ops.md)."""
    if service.get("LoadState") != "loaded":
        yield Problem(
            f"containerd.service is {service.get('LoadState') or 'unknown to systemd'}.",
            "a unit of that name, so that containerd can be restarted when its configuration changes.",
            "run containerd as containerd.service.",
        )
    elif service.get("KillMode") != "process":
        yield Problem(
            f"containerd.service has KillMode={service.get('KillMode', '')}: a restart may kill the node's pods.",
            "KillMode=process and Delegate=yes, as in the unit that comes with containerd.",
            "put KillMode=process and Delegate=yes below [Service] in "
            "/etc/systemd/system/containerd.service.d/kill-mode.conf, run systemctl daemon-reload, and run this again.",
        )
