"""System, hardware, firewall, swap and clock of this host.

Runs on hosts: Python 3.9 or later, standard library only.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import programs, selinux
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import (
    assignments,
    listed,
    place,
    read,
)
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import Process

_FIREWALL_SECONDS = 60
"""D-Bus, by which it asks, gives up after 25 s and says so."""
_UNIT_DIRECTORIES = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/run/systemd/generator.late",
)
"""Generators write units for swap partitions that no file names, and for compressed memory (systemd.generator(7))."""
_CLOCK_UNSYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)


def look_os() -> dict[str, Any]:
    """As os-release says; only VERSION and the release file name the service pack of openEuler."""
    fields = assignments(read("/etc/os-release") or read("/usr/lib/os-release"))
    release = next((text for text in map(read, ("/etc/openEuler-release", "/etc/system-release")) if text), "")
    names = {"id": "ID", "like": "ID_LIKE", "version_id": "VERSION_ID", "version": "VERSION", "name": "PRETTY_NAME"}
    return {**{key: fields.get(name, "") for key, name in names.items()}, "release_file": release.strip()}


def look_machine() -> dict[str, Any]:
    """Hardware, kernel, and the user and Python of this module."""
    kernel = os.uname()
    memory = re.search(r"(?m)^MemTotal:\s+(\d+) kB", read("/proc/meminfo"))
    umask = os.umask(0o077)
    os.umask(umask)
    own = read("/etc/machine-id").strip()
    return {
        "architecture": kernel.machine,
        "kernel": kernel.release,
        "hostname": kernel.nodename,
        "identity": hashlib.sha256(own.encode()).hexdigest()[:16] if own else "",  # machine-id(5): keep it confidential
        "cpus": os.cpu_count() or 0,
        "memory_bytes": int(memory.group(1)) * 1024 if memory else 0,
        "python": ".".join(map(str, sys.version_info[:3])),
        "uid": os.geteuid(),
        "umask": f"{umask:04o}",
    }


def look_selinux() -> dict[str, Any]:
    """The mode now and the one of the next boot."""
    configured = assignments(read("/etc/selinux/config")).get("SELINUX", "").lower()
    return {"mode": selinux.mode(), "configured": configured}


def look_firewall(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """Which services filter, and which sources the zones of firewalld accept, or why that is not known."""
    services = ("firewalld", "nftables", "iptables", "ip6tables")
    states = programs.run(["systemctl", "is-active", *services], programs.BRIEF_SECONDS).output.split()
    active = [name for position, name in enumerate(services) if states[position : position + 1] == ["active"]]
    if "firewalld" in daemons and "firewalld" not in active:
        active.append("firewalld")
    zones, trouble = _active_zones() if "firewalld" in active else ({}, "")
    settings = assignments(read("/etc/firewalld/firewalld.conf"))
    return {
        "active": sorted(active),
        "flushes": settings.get("FlushAllOnReload", "").lower() in {"yes", "true"},
        "zones": zones,
        "zones_trouble": trouble,
    }


def _active_zones() -> tuple[dict[str, list[str]], str]:
    done = programs.run(["firewall-cmd", "--get-active-zones"], _FIREWALL_SECONDS)
    if done.code:
        return {}, programs.complaint(done.errors) or f"firewall-cmd ended with {done.code}"
    return zones_of(done.output), ""


def zones_of(text: str) -> dict[str, list[str]]:
    """Active zones to their sources, as `firewall-cmd --get-active-zones` lists them."""
    zones: dict[str, list[str]] = {}
    zone = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            zone = line.split()[0]
            zones[zone] = []
        elif zone and line.strip().startswith("sources:"):
            zones[zone] = line.partition(":")[2].split()
    return zones


def look_swap() -> dict[str, Any]:
    """Swap in use, and what turns it on at the next boot."""
    rows = [line.split() for line in read("/proc/swaps").splitlines()[1:]]
    fstab = [line for line in read("/etc/fstab").splitlines() if line.split()[2:3] == ["swap"] and line[0] != "#"]
    units = [path for directory in _UNIT_DIRECTORIES for path in listed(directory, ".swap")]
    masked = {path.rpartition("/")[2] for path in units if os.path.realpath(place(path)) == os.devnull}
    return {
        "devices": [{"name": name, "type": kind, "kib": int(kib)} for name, kind, kib, *_ in rows],
        "fstab": fstab,
        "units": [
            path
            for path in units
            if path.rpartition("/")[2] not in masked and "SourcePath=/etc/fstab\n" not in read(path)
        ],
    }


def look_time(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """Time on this host, the service that keeps it, and whether the kernel counts it as synchronised."""
    state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))  # no mode is set: it only reads
    service = next((name for name in ("chronyd", "systemd-timesyncd", "ntpd") if name in daemons), "")
    return {"epoch": time.time(), "service": service, "synchronised": 0 <= state < _CLOCK_UNSYNCHRONISED}
