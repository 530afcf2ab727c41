"""The containerd of this host: which process it is, and what its configuration says.

Runs on hosts: Python 3.9 or later, standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import programs
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import place, read
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import option, processes

ENDPOINT = "unix:///run/containerd/containerd.sock"
CONFIG = "/etc/containerd/config.toml"
_CONFIG_FLAGS = ("-c", "--c", "-config", "--config")
_SHOWN = ("LoadState", "ActiveState", "KillMode", "Delegate", "MainPID")
_TABLES = {
    "sandbox_image": "cri",
    "sandbox": "pinned_images",
    "default_runtime_name": "containerd",
    "config_path": "registry",
}
"""Keys that matter here, and how the names of their tables end in every version of the file."""


class Daemon(NamedTuple):
    """containerd on this host.

    `pid` is empty where it does not run. `running` is the program of that process, which a package may have replaced
    since; `installed` is the file that its next start runs. `config` is the path of its configuration.
    """

    pid: str
    running: str
    installed: str
    config: str


def unit() -> dict[str, str]:
    """What systemd says about containerd.service; nothing where there is no systemctl."""
    properties = [f"--property={name}" for name in _SHOWN]
    done = programs.run(["systemctl", "show", "containerd.service", *properties], programs.BRIEF_SECONDS)
    return dict(line.split("=", 1) for line in done.output.splitlines() if "=" in line)


def find_daemon(service: Mapping[str, str]) -> Daemon:
    """The process of containerd.service, as `unit` describes it; without one, the oldest process named containerd.

    The name alone does not say which process serves the kubelet: dockerd may run a containerd of its own.
    """
    pid = service.get("MainPID", "0")
    if pid == "0":
        other = processes().get("containerd")
        if other is None or "/run/docker/" in other.option(*_CONFIG_FLAGS):
            return Daemon("", "containerd", "containerd", CONFIG)
        pid = other.pid
    words = read(f"/proc/{pid}/cmdline").split("\0")
    config = option(words, *_CONFIG_FLAGS) or CONFIG
    try:
        # The kernel puts a mark behind the name of a program that was replaced while it runs.
        installed = str(place(f"/proc/{pid}/exe").readlink()).replace(" (deleted)", "")
    except OSError:
        installed = "containerd"
    return Daemon(pid, f"/proc/{pid}/exe", installed, config)


def dump(program: str, config: str) -> tuple[str, str]:
    """What containerd makes of a configuration, and why it cannot; without a file it runs with its defaults."""
    given = ["--config", config, "config", "dump"] if place(config).exists() else ["config", "default"]
    done = programs.run([program, *given], programs.BRIEF_SECONDS)
    if done.code == 0:
        return done.output, ""
    return "", (programs.complaint(done.errors) or f"exit code {done.code}")[:500]


def chosen(text: str) -> dict[str, Any]:
    """What matters here of a configuration or a dump: `root`, `config_path`, `sandbox`, and `drivers` by runtime.

    Only what is there is a key, and `default_runtime_name` with it.
    """
    settings: dict[str, Any] = {}
    drivers: dict[str, str] = {}
    for table, key, value in toml_pairs(text):
        if key == "SystemdCgroup" and (runtime := re.search(r"\.runtimes\.([^.]+)\.options$", table)):
            drivers[runtime.group(1)] = "systemd" if value == "true" else "cgroupfs"
        elif table.endswith(_TABLES.get(key, "?")) or (not table and key == "root"):
            settings[key] = value
    settings["sandbox"] = settings.pop("sandbox_image", "") or settings.get("sandbox", "")
    return {**settings, "drivers": drivers}


def toml_pairs(text: str) -> Iterator[tuple[str, str, str]]:
    """Table, key and value of plain one-line pairs, which is how containerd prints its configuration."""
    table = ""
    for line in text.splitlines():
        stripped = line.strip()
        header = re.fullmatch(r"\[\[?(.+?)\]\]?\s*(?:#.*)?", stripped)
        pair = re.fullmatch(r"([\w.-]+)\s*=\s*(.*)", stripped)
        if header and not pair:
            table = header.group(1).replace('"', "").replace("'", "").strip()
        elif pair:
            yield table, pair.group(1), pair.group(2).partition(" #")[0].strip().strip("\"'")
