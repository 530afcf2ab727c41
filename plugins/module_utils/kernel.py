"""Modules, settings and control groups of this host's kernel.

Runs on hosts: Python 3.9 or later, standard library only.
"""

from __future__ import annotations

import fnmatch
import gzip
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import host_files
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import drop_ins, exists, place, read
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import pids

UNIFIED = 2
"""Version of control groups with one tree for all controllers."""
SYSCTL_DIRECTORIES = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
MODULE_DIRECTORIES = (
    "/etc/modules-load.d",
    "/run/modules-load.d",
    "/usr/local/lib/modules-load.d",
    "/usr/lib/modules-load.d",
)
MODPROBE_DIRECTORIES = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")


def look_modules(names: Iterable[str]) -> dict[str, Any]:
    """Each module is loaded, builtin, loadable, forbidden or absent; unknown without the running kernel's files."""
    kernel = os.uname().release
    directory = f"/lib/modules/{kernel}"
    loaded = {line.split()[0] for line in read("/proc/modules").splitlines() if line}
    builtin = set(_module_names(read(f"{directory}/modules.builtin").splitlines()))
    loadable = set(_module_names(line.partition(":")[0] for line in read(f"{directory}/modules.dep").splitlines()))
    known = bool(builtin or loadable)
    closed = read("/proc/sys/kernel/modules_disabled").strip() == "1"
    forbidden = set(_forbidden_modules())

    def state(name: str) -> str:
        if name in loaded:
            return "loaded"
        if name in builtin:
            return "builtin"
        if name in loadable:
            return "forbidden" if closed or name in forbidden else "loadable"
        return "absent" if known else "unknown"

    at_boot = {
        line.strip().replace("-", "_")
        for path in [*drop_ins(MODULE_DIRECTORIES), "/etc/modules"]
        for line in read(path).splitlines()
        if line.strip() and line.strip()[0] not in "#;"
    }
    return {
        "kernel": kernel,
        "directory": exists(directory),
        "states": {name: state(name.replace("-", "_")) for name in names},
        "at_boot": sorted(at_boot),
    }


def _module_names(paths: Iterable[str]) -> Iterator[str]:
    """Names of modules as the kernel spells them, of their files."""
    for path in paths:
        yield path.strip().rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def _forbidden_modules() -> Iterator[str]:
    """Those whose `install` line runs nothing; a blacklist only stops aliases."""
    for path in drop_ins(MODPROBE_DIRECTORIES):
        for name in re.findall(r"(?m)^[ \t]*install[ \t]+(\S+)[ \t]+(?:/usr)?/bin/(?:false|true)\b", read(path)):
            yield name.replace("-", "_")


def look_sysctls(names: Iterable[str]) -> dict[str, Any]:
    """Value now, the last one written at boot, and the last one that `sysctl --system` writes, with their files."""
    at_boot = drop_ins(SYSCTL_DIRECTORIES)
    by_hand = [*at_boot, "/etc/sysctl.conf"]  # sysctl(8) reads it last, whatever the others are called
    lines = {path: _sysctl_lines(read(path)) for path in by_hand}

    def last(name: str, paths: Iterable[str]) -> dict[str, str]:
        setting = {"value": "", "file": ""}
        for path in paths:
            for key, value in lines[path]:
                if fnmatch.fnmatchcase(name, key):
                    setting = {"value": value, "file": os.path.realpath(place(path))[len(host_files.ROOT) :]}
        return setting

    return {
        name: {
            "live": " ".join(read(f"/proc/sys/{name.replace('.', '/')}").split()),
            "boot": last(name, at_boot),
            "by_hand": last(name, by_hand),
        }
        for name in names
    }


def _sysctl_lines(text: str) -> list[tuple[str, str]]:
    """Names with dots and values of a file of sysctl.d(5)."""
    lines = []
    for line in text.splitlines():
        name, equals, value = line.strip().lstrip("-").partition("=")
        name = name.strip()
        if equals and name and name[0] not in "#;":
            first = re.search(r"[./]", name)
            lines.append((name.replace("/", ".") if first and first.group() == "/" else name, " ".join(value.split())))
    return lines


def look_inotify() -> dict[str, Any]:
    """Inotify instances in use by real uid, which is what the limit counts."""
    used: dict[str, int] = {}
    complete = os.geteuid() == 0
    for pid in pids():
        try:
            links = [str(path.readlink()) for path in place(f"/proc/{pid}/fd").iterdir()]
        except OSError:  # it has ended, or may not be looked at
            continue
        if count := links.count("anon_inode:inotify"):
            uid = re.search(r"(?m)^Uid:\s+(\d+)", read(f"/proc/{pid}/status"))
            if uid:
                used[uid.group(1)] = used.get(uid.group(1), 0) + count
    return {"used": used, "complete": complete}


def look_cgroup() -> dict[str, Any]:
    """Version 1 includes the hybrid layout, in which version 2 has no controllers; 0 is none at all."""
    mounts = [line.split() for line in read("/proc/self/mounts").splitlines()]
    unified = any(fields[1] == "/sys/fs/cgroup" and fields[2] == "cgroup2" for fields in mounts)
    if unified:
        controllers = read("/sys/fs/cgroup/cgroup.controllers").split()
    else:
        controllers = sorted({name for fields in mounts if fields[2] == "cgroup" for name in fields[3].split(",")})
    return {
        "version": UNIFIED if unified else 1 if any(fields[2] == "cgroup" for fields in mounts) else 0,
        "controllers": controllers,
        "delegated": read("/sys/fs/cgroup/cgroup.subtree_control").split() if unified else [],
        "realtime_groups": _kernel_option("CONFIG_RT_GROUP_SCHED"),
    }


def _kernel_option(name: str) -> bool | None:
    """Whether the kernel was built with it; None where its configuration cannot be found."""
    text = read(f"/boot/config-{os.uname().release}")
    if not text and exists("/proc/config.gz"):
        with gzip.open(place("/proc/config.gz"), "rt", encoding="ascii", errors="replace") as file:
            text = file.read()
    return f"\n{name}=y" in f"\n{text}" if text else None
