"""Everything that preflight asks of a host, in one go. Runs on the host with Python 3.9 or later; changes nothing."""

from __future__ import annotations

import contextlib
import ctypes
import fnmatch
import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kfv_host_facts
short_description: Look at a host once, at everything that preflight judges
description:
  - Reads the system's release, kernel modules, settings and cgroups, the kubelet and the container runtime behind it,
    SELinux, firewall, swap, clock, disks, processors, memory, proxies, and whether names resolve.
  - Reads files, C(/proc) and C(/sys); only versions, containerd's merged configuration and the state of services are
    asked of programs, each with a limit of time. A part that cannot be looked at is named and does not end the rest.
  - A host that cannot be reached, that refuses to let the user become root or whose Python cannot be used does not
    fail the task; it is told in RV(trouble), so that many hosts are judged together.
version_added: "0.1.0"
options:
  modules:
    description: Names of kernel modules to look for.
    type: list
    elements: str
    default: []
  sysctls:
    description: Names of kernel settings to read, with dots.
    type: list
    elements: str
    default: []
  names:
    description: Names of hosts to resolve.
    type: list
    elements: str
    default: []
  connects:
    description: Addresses with ports, C(host:port), to which connections are tried; nothing is sent.
    type: list
    elements: str
    default: []
  paths:
    description: Directories whose file systems matter, by what they are for.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: It changes nothing anyway.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The kubeflow-volcano authors
"""

EXAMPLES = r"""
- name: Look at every host
  kfv_host_facts:
    sysctls: [net.ipv4.ip_forward]
    paths: {volumes: /opt/local-path-provisioner}
  register: __preflight_look
"""

RETURN = r"""
facts:
  description: What was found, one part per key; the key C(troubles) names parts that could not be looked at, and why.
  returned: when the host answered
  type: dict
trouble:
  description: Why there are no facts; C(kind) is one of reach, become, python and module.
  returned: when the host did not answer
  type: dict
sent:
  description: When the question was sent, in seconds since the epoch on the machine that runs Ansible.
  returned: always
  type: float
received:
  description: When the answer was there.
  returned: always
  type: float
"""

ARGUMENTS: dict[str, Any] = {
    "modules": {"type": "list", "elements": "str", "default": []},
    "sysctls": {"type": "list", "elements": "str", "default": []},
    "names": {"type": "list", "elements": "str", "default": []},
    "connects": {"type": "list", "elements": "str", "default": []},
    "paths": {"type": "dict", "default": {}},
}
ROOT = ""
"""What absolute paths begin with; only the tests of this file set it."""
OLDEST_PYTHON = (3, 9)
PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs may be that sudo's own path leaves out."""
COMMAND_SECONDS = 15
RESOLVE_SECONDS = 10
CONNECT_SECONDS = 3
LONGEST_SECONDS = 120
"""After which the module ends itself: a file system whose server is gone would keep it for ever."""
LONGEST_TEXT = 2000
DAEMONS: tuple[str, ...] = (
    "kubelet",
    "containerd",
    "crio",
    "dockerd",
    "cri-dockerd",
    "isulad",
    "k3s",
    "rke2",
    "kube-apiserver",
)
DAEMONS += ("kube-controller-manager", "firewalld", "chronyd", "ntpd", "systemd-timesyncd")
IN_CONTAINERS = {"kube-apiserver", "kube-controller-manager"}
"""Daemons that belong to the host although they run as its pods."""
UNITS = ("containerd", "kubelet", "crio", "docker", "cri-docker", "isulad", "k3s", "k3s-agent", "rke2-server")
SOCKETS = {
    "cri-dockerd": "docker",
    "dockershim": "docker",
    "crio": "cri-o",
    "isulad": "isulad",
    "containerd": "containerd",
}
SYSCTL_DIRECTORIES = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
MODULE_DIRECTORIES = (
    "/etc/modules-load.d",
    "/run/modules-load.d",
    "/usr/local/lib/modules-load.d",
    "/usr/lib/modules-load.d",
)
MODPROBE_DIRECTORIES = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system")
WANTED = {"sandbox_image": "cri", "sandbox": "pinned_images", "default_runtime_name": "containerd"}
WANTED["config_path"] = "registry"
"""Keys of containerd's configuration that are asked for, and how the names of their tables end."""
PROXY = re.compile(r"(?i)^(https?_proxy|no_proxy|all_proxy)$")
CLOCK_UNSYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)
UNIFIED = 2


def read(path: str, longest: int = 1 << 20) -> str:
    """Text of a file; empty where there is none."""
    try:
        with Path(ROOT + path).open(encoding="utf-8", errors="replace") as file:
            return file.read(longest)
    except (FileNotFoundError, NotADirectoryError):
        return ""


def listed(directory: str, suffix: str = "") -> list[str]:
    """Paths of the entries of a directory with that suffix, sorted; none where there is no directory."""
    try:
        names = sorted(path.name for path in Path(ROOT + directory).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [f"{directory}/{name}" for name in names if name.endswith(suffix)]


def exists(path: str) -> bool:
    """Whether there is something at that path."""
    return Path(ROOT + path).exists()


def drop_ins(directories: Iterable[str], suffix: str = ".conf") -> list[str]:
    """Files that systemd reads out of these directories, in its order: by name, the first directory's wins."""
    found: dict[str, str] = {}
    for directory in directories:
        for path in listed(directory, suffix):
            found.setdefault(path.rpartition("/")[2], path)
    return [found[name] for name in sorted(found)]


def said(*command: str) -> str:
    """What a program prints; empty where it does not exist, breaks or takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def assignments(text: str) -> dict[str, str]:
    """NAME=value lines, as in os-release."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("\"'")
    return found


def settings_of(text: str) -> dict[str, Any]:
    """Scalars at the top level of a YAML or JSON document, which is all that is asked of the kubelet's."""
    with contextlib.suppress(ValueError):
        loaded = json.loads(text)
        return loaded if isinstance(loaded, dict) else {}
    pairs = re.findall(r"(?m)^([A-Za-z]\w*):[ \t]*([^\s#][^#\n]*?)[ \t]*(?:#.*)?$", text)
    return {name: value.strip("\"'") for name, value in pairs}


def truth(value: Any) -> bool | None:
    """YAML's true and false; None for anything else."""
    return {"true": True, "false": False}.get(str(value).lower())


class Process:
    """A daemon of the host: its arguments and environment."""

    def __init__(self, pid: str, name: str, arguments: list[str]) -> None:
        self.pid, self.name, self.arguments = pid, name, arguments

    def option(self, *names: str) -> str:
        """Value of a flag in either spelling, `--flag=value` or `--flag value`; empty where it is not given."""
        return option(self.arguments, *names)

    @property
    def program(self) -> str:
        """The file that it was started from, even where a newer one has taken its place."""
        return f"/proc/{self.pid}/exe"

    @property
    def environment(self) -> dict[str, str]:
        """What it was started with; empty where that may not be seen."""
        return assignments(read(f"/proc/{self.pid}/environ").replace("\0", "\n"))


def option(arguments: list[str], *names: str) -> str:
    """Value of a flag among arguments, as `Process.option` gives it."""
    for position, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag in names:
            return value if equals else "".join(arguments[position + 1 : position + 2])
    return ""


def pids() -> list[str]:
    """Of everything that runs."""
    return [path.name for path in Path(f"{ROOT}/proc").iterdir() if path.name.isdigit()]


def processes() -> dict[str, Process]:
    """The daemons that run on this very host, by name; those of containers have another root and do not count."""
    found: dict[str, Process] = {}
    here = Path(f"{ROOT}/").stat()
    for pid in pids():
        try:
            arguments = read(f"/proc/{pid}/cmdline", 1 << 16).split("\0")
            name = daemon_of(arguments)
            if not name or name in found:
                continue
            there = Path(f"{ROOT}/proc/{pid}/root/").stat()
        except OSError:  # it has ended, or is not ours to look at
            continue
        if name in IN_CONTAINERS or (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            found[name] = Process(pid, name, [argument for argument in arguments if argument])
    return found


def daemon_of(arguments: list[str]) -> str:
    """Name of the daemon that was started so, perhaps by Python; empty for anything else."""
    names = [argument.partition(" ")[0].rpartition("/")[2] for argument in arguments[:3]]
    if not names[0].startswith("python"):
        del names[1:]
    return next((name for name in DAEMONS if name in names), "")


def look_os() -> dict[str, Any]:
    """As os-release says; the service pack of openEuler stands in VERSION and in its release file only."""
    found = assignments(read("/etc/os-release") or read("/usr/lib/os-release"))
    release = next((text for text in map(read, ("/etc/openEuler-release", "/etc/system-release")) if text), "")
    names = {"id": "ID", "like": "ID_LIKE", "version_id": "VERSION_ID", "version": "VERSION", "name": "PRETTY_NAME"}
    return {**{key: found.get(name, "") for key, name in names.items()}, "release_file": release.strip()}


def look_machine() -> dict[str, Any]:
    """Hardware and kernel, and as whom and with what this looks."""
    kernel = os.uname()
    memory = re.search(r"(?m)^MemTotal:\s+(\d+) kB", read("/proc/meminfo"))
    umask = os.umask(0o077)
    os.umask(umask)
    own = read("/etc/machine-id").strip()
    return {
        "architecture": kernel.machine,
        "kernel": kernel.release,
        "hostname": kernel.nodename,
        "identity": hashlib.sha256(own.encode()).hexdigest()[:16] if own else "",  # machine-id(5): not for everybody
        "cpus": os.cpu_count() or 0,
        "memory_bytes": int(memory.group(1)) * 1024 if memory else 0,
        "python": ".".join(map(str, sys.version_info[:3])),
        "uid": os.geteuid(),
        "umask": f"{umask:04o}",
    }


def look_modules(names: Iterable[str]) -> dict[str, Any]:
    """Each module is loaded, builtin, loadable, forbidden or absent; unknown where the kernel's files are not there."""
    kernel = os.uname().release
    directory = f"/lib/modules/{kernel}"
    loaded = {line.split()[0] for line in read("/proc/modules").splitlines() if line}
    builtin = set(module_names(read(f"{directory}/modules.builtin").splitlines()))
    loadable = set(module_names(line.partition(":")[0] for line in read(f"{directory}/modules.dep").splitlines()))
    known = bool(builtin or loadable)
    closed = read("/proc/sys/kernel/modules_disabled").strip() == "1"
    forbidden = set(forbidden_modules())

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


def module_names(paths: Iterable[str]) -> Iterator[str]:
    """Names of modules as the kernel spells them, of their files."""
    for path in paths:
        yield path.strip().rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def forbidden_modules() -> Iterator[str]:
    """Those that an `install` line turns into nothing; a mere blacklist stops aliases only."""
    for path in drop_ins(MODPROBE_DIRECTORIES):
        for name in re.findall(r"(?m)^\s*install\s+(\S+)\s+(?:/usr)?/bin/(?:false|true)\b", read(path)):
            yield name.replace("-", "_")


def look_sysctls(names: Iterable[str]) -> dict[str, Any]:
    """Value now, the last one written at boot, and the last one that `sysctl --system` writes, with their files."""
    at_boot = drop_ins(SYSCTL_DIRECTORIES)
    by_hand = [*at_boot, "/etc/sysctl.conf"]  # sysctl(8) reads it last, whatever the others are called
    lines = {path: sysctl_lines(read(path)) for path in by_hand}

    def last(name: str, paths: Iterable[str]) -> dict[str, str]:
        found = {"value": "", "file": ""}
        for path in paths:
            for key, value in lines[path]:
                if fnmatch.fnmatchcase(name, key):
                    found = {"value": value, "file": os.path.realpath(ROOT + path)[len(ROOT) :]}
        return found

    return {
        name: {
            "live": " ".join(read(f"/proc/sys/{name.replace('.', '/')}").split()),
            "boot": last(name, at_boot),
            "by_hand": last(name, by_hand),
        }
        for name in names
    }


def sysctl_lines(text: str) -> list[tuple[str, str]]:
    """Names with dots and values of a file of sysctl.d(5)."""
    found = []
    for line in text.splitlines():
        name, equals, value = line.strip().lstrip("-").partition("=")
        name = name.strip()
        if equals and name and name[0] not in "#;":
            first = re.search(r"[./]", name)
            found.append((name.replace("/", ".") if first and first.group() == "/" else name, " ".join(value.split())))
    return found


def look_inotify() -> dict[str, Any]:
    """Inotify instances in use, by real uid, which is what the limit counts."""
    used: dict[str, int] = {}
    complete = os.geteuid() == 0
    for pid in pids():
        try:
            links = [str(path.readlink()) for path in Path(f"{ROOT}/proc/{pid}/fd").iterdir()]
        except OSError:  # it has ended, or is not ours to look at
            continue
        if count := links.count("anon_inode:inotify"):
            uid = re.search(r"(?m)^Uid:\s+(\d+)", read(f"/proc/{pid}/status"))
            if uid:
                used[uid.group(1)] = used.get(uid.group(1), 0) + count
    return {"used": used, "complete": complete}


def look_cgroup() -> dict[str, Any]:
    """Version 1 includes the hybrid layout, in which the second version has no controllers; 0 is none at all."""
    mounts = [line.split() for line in read("/proc/self/mounts").splitlines()]
    unified = any(fields[1] == "/sys/fs/cgroup" and fields[2] == "cgroup2" for fields in mounts)
    if unified:
        controllers = read("/sys/fs/cgroup/cgroup.controllers").split()
    else:
        controllers = sorted({name for fields in mounts if fields[2] == "cgroup" for name in fields[3].split(",")})
    return {
        "version": 2 if unified else 1 if any(fields[2] == "cgroup" for fields in mounts) else 0,
        "controllers": controllers,
        "delegated": read("/sys/fs/cgroup/cgroup.subtree_control").split() if unified else [],
        "realtime_groups": kernel_option("CONFIG_RT_GROUP_SCHED"),
    }


def kernel_option(name: str) -> bool | None:
    """Whether the kernel was built with it; None where it does not tell."""
    text = read(f"/boot/config-{os.uname().release}")
    if not text and exists("/proc/config.gz"):
        with gzip.open(f"{ROOT}/proc/config.gz", "rt", encoding="ascii", errors="replace") as file:
            text = file.read()
    return f"\n{name}=y" in f"\n{text}" if text else None


def look_kubelet(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """The kubelet's own choices, out of its arguments, else out of what kubeadm keeps for its next start."""
    process = daemons.get("kubelet") or daemons.get("k3s") or daemons.get("rke2")
    kept = assignments(read("/var/lib/kubelet/kubeadm-flags.env")).get("KUBELET_KUBEADM_ARGS", "")
    arguments = process.arguments if process else shlex.split(kept)
    path = option(arguments, "--config") or "/var/lib/kubelet/config.yaml"
    settings = settings_of(read(path))
    for extra in listed(option(arguments, "--config-dir"), ".conf") if option(arguments, "--config-dir") else []:
        settings.update(settings_of(read(extra)))
    told = said(process.program if process else "kubelet", "--version")
    version = re.search(r"\bv?(\d+\.\d+\.\d+)", told)

    def chosen(flag: str, key: str) -> str:
        return option(arguments, flag) or str(settings.get(key, ""))

    return {
        "program": process.name if process else "kubelet" if shutil.which("kubelet") else "",
        "running": process is not None,
        "version": version.group(1) if version else "",
        "config": path if exists(path) else "",
        "root": option(arguments, "--root-dir") or "/var/lib/kubelet",
        "endpoint": chosen("--container-runtime-endpoint", "containerRuntimeEndpoint"),
        "cgroup_driver": chosen("--cgroup-driver", "cgroupDriver"),
        "fail_swap_on": truth(chosen("--fail-swap-on", "failSwapOn")),
        "fail_cgroup_v1": truth(chosen("--fail-cgroupv1", "failCgroupV1")),
        "protect_kernel_defaults": truth(chosen("--protect-kernel-defaults", "protectKernelDefaults")),
    }


def look_runtime(daemons: Mapping[str, Process], kubelet: Mapping[str, Any]) -> dict[str, Any]:
    """The runtime that the kubelet talks to; where there is none, the one that runs or is installed."""
    endpoint = str(kubelet.get("endpoint") or default_endpoint(daemons, kubelet))
    name = next((runtime for word, runtime in SOCKETS.items() if word in endpoint), "other" if endpoint else "")
    origin = "kubelet"
    if not endpoint:
        order = {"containerd": "containerd", "crio": "cri-o", "isulad": "isulad", "dockerd": "docker"}
        origin = "running" if any(daemon in daemons for daemon in order) else "installed"
        there = [order[word] for word in order if (word in daemons if origin == "running" else shutil.which(word))]
        name = ("docker" if "docker" in there and origin == "running" else there[0]) if there else ""
    looked = {"containerd": containerd, "cri-o": crio, "docker": docker, "isulad": isulad}.get(name)
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
        "registry_path": "",
        "sandbox": "",
        "root": "",
        "cri_v1": None,
        **(looked(daemons) if looked else {}),
    }


def default_endpoint(daemons: Mapping[str, Process], kubelet: Mapping[str, Any]) -> str:
    """Where a kubelet looks that nobody told: since 1.24 at containerd's socket, before at Docker's."""
    if "k3s" in daemons or "rke2" in daemons:
        return "unix:///run/k3s/containerd/containerd.sock"
    if not kubelet.get("running"):
        return ""
    old = tuple(int(part) for part in str(kubelet.get("version") or "0.0").split(".")[:2]) < (1, 24)
    return (
        "unix:///var/run/dockershim.sock"
        if old and kubelet.get("version")
        else "unix:///run/containerd/containerd.sock"
    )


def version_said(daemon: Process | None, program: str) -> str:
    """Version that a program prints of itself; empty where it does not."""
    told = said(daemon.program if daemon else program, "--version")
    found = re.search(r"\bv?(\d+\.\d+\.\d+(?:[-~][\w.]+)?)", told)
    return found.group(1) if found else ""


def toml_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Table, key and value of plain one-line pairs, which is how containerd prints its configuration."""
    table = ""
    for line in text.splitlines():
        stripped = line.strip()
        header = re.fullmatch(r"\[\[?(.+?)\]\]?\s*(?:#.*)?", stripped)
        pair = re.fullmatch(r"([\w.-]+)\s*=\s*(.*?)\s*", stripped)
        if header and not pair:
            table = header.group(1).replace('"', "").replace("'", "").strip()
        elif pair:
            yield table, pair.group(1), pair.group(2).partition(" #")[0].strip().strip("\"'")


def containerd(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As containerd itself merges its files; where it cannot, as its main file says."""
    daemon = daemons.get("containerd")
    path = (daemon.option("--config", "-c") if daemon else "") or "/etc/containerd/config.toml"
    program = daemon.program if daemon else "containerd"
    own = read(path)
    merged = said(program, *(("--config", path) if own else ()), "config", "dump")
    drivers: dict[str, str] = {}
    found: dict[str, str] = {}
    for table, key, value in toml_lines(merged or own):
        if key == "SystemdCgroup" and (runtime := re.search(r"\.runtimes\.([^.]+)\.options$", table)):
            drivers[runtime.group(1)] = "systemd" if value == "true" else "cgroupfs"
        elif table.endswith(WANTED.get(key, "?")) or (not table and key == "root"):
            found[key] = value
    version = re.search(r"(?m)^version\s*=\s*(\d+)", own)
    return {
        "running": daemon is not None,
        "version": version_said(daemon, "containerd"),
        "cgroup_driver": drivers.get(found.get("default_runtime_name") or "runc", "cgroupfs" if merged else ""),
        "config": path if own else "",
        "config_version": int(version.group(1)) if version else 1 if own.strip() else 0,
        "config_readable": bool(merged) if own else None,
        "registry_path": found.get("config_path", ""),
        "sandbox": found.get("sandbox_image") or found.get("sandbox", ""),
        "root": found.get("root") or "/var/lib/containerd",
    }


def crio(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As its files say; without a word it uses systemd's driver."""
    driver = "systemd"
    for path in ["/etc/crio/crio.conf", *listed("/etc/crio/crio.conf.d", ".conf")]:
        for _, key, value in toml_lines(read(path)):
            driver = value if key == "cgroup_manager" else driver
    daemon = daemons.get("crio")
    version = version_said(daemon, "crio")
    return {
        "running": daemon is not None,
        "version": version,
        "cgroup_driver": driver,
        "root": "/var/lib/containers/storage",
    }


def docker(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As daemon.json says; without a word the driver is systemd's on cgroup v2, and cgroupfs on v1."""
    settings = settings_of(read("/etc/docker/daemon.json"))
    options = [str(item) for item in settings.get("exec-opts") or []]
    chosen = [item.partition("=")[2] for item in options if item.startswith("native.cgroupdriver=")]
    daemon = daemons.get("dockerd")
    return {
        "running": daemon is not None,
        "version": version_said(daemon, "dockerd"),
        "cgroup_driver": chosen[-1] if chosen else "systemd" if look_cgroup()["version"] == UNIFIED else "cgroupfs",
        "config": "/etc/docker/daemon.json" if settings else "",
        "root": str(settings.get("data-root") or "/var/lib/docker"),
    }


def isulad(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """As daemon.json says; CRI v1 has to be asked for."""
    settings = settings_of(read("/etc/isulad/daemon.json"))
    daemon = daemons.get("isulad")
    return {
        "running": daemon is not None,
        "version": version_said(daemon, "isulad"),
        "cgroup_driver": "systemd" if settings.get("systemd-cgroup") is True else "cgroupfs",
        "config": "/etc/isulad/daemon.json" if settings else "",
        "root": str(settings.get("graph") or "/var/lib/isulad"),
        "sandbox": str(settings.get("pod-sandbox-image") or ""),
        "cri_v1": settings.get("enable-cri-v1") is True,
    }


def look_selinux() -> dict[str, Any]:
    """The mode now and the one of the next boot."""
    mode = {"1": "enforcing", "0": "permissive"}.get(read("/sys/fs/selinux/enforce").strip(), "disabled")
    return {"mode": mode, "configured": assignments(read("/etc/selinux/config")).get("SELINUX", "").lower()}


def look_firewall(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """Which services filter, and what firewalld accepts from whom."""
    services = ("firewalld", "nftables", "iptables", "ip6tables")
    states = said("systemctl", "is-active", *services).split()
    active = [name for position, name in enumerate(services) if states[position : position + 1] == ["active"]]
    if "firewalld" in daemons and "firewalld" not in active:
        active.append("firewalld")
    zones = said("firewall-cmd", "--get-active-zones") if "firewalld" in active else ""
    settings = assignments(read("/etc/firewalld/firewalld.conf"))
    return {
        "active": sorted(active),
        "default_zone": settings.get("DefaultZone", ""),
        "flushes": settings.get("FlushAllOnReload", "").lower() in {"yes", "true"},
        "zones": zones_of(zones),
    }


def zones_of(text: str) -> dict[str, list[str]]:
    """Active zones to their sources, as `firewall-cmd --get-active-zones` lists them."""
    found: dict[str, list[str]] = {}
    zone = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            zone = line.split()[0]
            found[zone] = []
        elif zone and line.strip().startswith("sources:"):
            found[zone] = line.partition(":")[2].split()
    return found


def look_swap() -> dict[str, Any]:
    """Swap in use, and what brings it back at the next boot."""
    rows = [line.split() for line in read("/proc/swaps").splitlines()[1:]]
    fstab = [line for line in read("/etc/fstab").splitlines() if line.split()[2:3] == ["swap"] and line[0] != "#"]
    units = [path for directory in UNIT_DIRECTORIES[:2] for path in listed(directory, ".swap")]
    return {
        "devices": [{"name": name, "type": kind, "kib": int(kib)} for name, kind, kib, *_ in rows],
        "fstab": fstab,
        "units": units,
    }


def look_time(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """`synchronised` is what the kernel was told by whoever keeps the clock."""
    state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))  # no mode is set: it only reads
    service = next((name for name in ("chronyd", "systemd-timesyncd", "ntpd") if name in daemons), "")
    return {"epoch": time.time(), "service": service, "synchronised": 0 <= state < CLOCK_UNSYNCHRONISED}


def look_paths(paths: Mapping[str, str]) -> dict[str, Any]:
    """The file system that each path lies on or would lie on."""
    mounts = [line.split() for line in read("/proc/self/mountinfo").splitlines()]
    found = {}
    for purpose, text in paths.items():
        path = Path(text)
        there = path.resolve()
        while not there.is_dir():
            there = there.parent
        mount = nearest(mounts, str(there))
        sizes = os.statvfs(there)
        dash = mount.index("-")
        found[purpose] = {
            "path": text,
            "mode": f"{path.stat().st_mode & 0o7777:04o}" if path.is_dir() else "",
            "mount": unescaped(mount[4]),
            "type": mount[dash + 1],
            "options": sorted({*mount[5].split(","), *mount[dash + 3].split(",")}),
            "bytes": sizes.f_blocks * sizes.f_frsize,
            "free": sizes.f_bavail * sizes.f_frsize,
            "inodes": sizes.f_files,
            "inodes_free": sizes.f_favail,
        }
    return found


def nearest(mounts: list[list[str]], path: str) -> list[str]:
    """The mount that holds the path; of several upon each other the last one counts."""
    holding = [mount for mount in mounts if f"{path}/".startswith(f"{unescaped(mount[4]).rstrip('/')}/")]
    return max(reversed(holding), key=lambda mount: len(mount[4]))


def unescaped(text: str) -> str:
    """A path of mountinfo, which writes blanks as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)


def all_at_once(ask: Callable[[str], Any], what: Iterable[str], late: Any) -> dict[str, Any]:
    """Answers by what was asked, each in a thread of its own; `late` for those that take too long."""
    found = dict.fromkeys(what, late)

    def one(item: str) -> None:
        found[item] = ask(item)

    threads = [threading.Thread(target=one, args=(item,), daemon=True) for item in list(found)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + RESOLVE_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return dict(found)


def look_names(names: Iterable[str]) -> dict[str, Any]:
    """Addresses of each name, or why there are none."""

    def resolve(name: str) -> dict[str, Any]:
        try:
            answers = socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)
        except (OSError, UnicodeError) as error:
            return {"addresses": [], "error": str(error)}
        return {"addresses": sorted({str(answer[4][0]) for answer in answers}), "error": ""}

    return all_at_once(resolve, names, {"addresses": [], "error": "no answer in time"})


def look_connections(targets: Iterable[str]) -> dict[str, str]:
    """What stands against a connection to each address and port; empty where there was one."""

    def connect(target: str) -> str:
        name, _, port = target.rpartition(":")
        try:
            socket.create_connection((name.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            return str(error) or type(error).__name__
        return ""

    return all_at_once(connect, targets, "no answer in time")


def look_proxies(daemons: Mapping[str, Process]) -> list[dict[str, str]]:
    """Proxy variables of running daemons and of what they are started with. Nobody's password leaves the host."""
    found = []
    for name, process in sorted(daemons.items()):
        found += [(name, f"process {process.pid}", *pair) for pair in process.environment.items()]
    for unit in UNITS:
        for directory in UNIT_DIRECTORIES:
            for path in [f"{directory}/{unit}.service", *listed(f"{directory}/{unit}.service.d", ".conf")]:
                found += [(unit, path, *pair) for pair in unit_environment(read(path))]
    found += [("every login", "/etc/environment", *pair) for pair in assignments(read("/etc/environment")).items()]
    rows = [(of, where, name, redacted(value)) for of, where, name, value in found if PROXY.match(name) and value]
    return [{"of": of, "where": where, "name": name.upper(), "value": value} for of, where, name, value in rows]


def unit_environment(text: str) -> Iterator[tuple[str, str]]:
    """Variables of Environment= and EnvironmentFile= lines."""
    for key, value in re.findall(r"(?m)^\s*(Environment|EnvironmentFile)\s*=\s*(.*)$", text):
        if key == "EnvironmentFile":
            yield from assignments(read(value.strip().lstrip("-"))).items()
            continue
        with contextlib.suppress(ValueError):  # quotes that do not match: systemd ignores the line, too
            for word in shlex.split(value):
                yield word.partition("=")[0], word.partition("=")[2]


def redacted(value: str) -> str:
    """An address without user and password."""
    return re.sub(r"(?:(?<=://)|^)[^/@\s]*@", "[redacted]@", value)[:LONGEST_TEXT]


def look_networks(daemons: Mapping[str, Process]) -> dict[str, Any]:
    """Networks of services and pods as the control plane's daemons were told; empty on other hosts."""
    server, manager = daemons.get("kube-apiserver"), daemons.get("kube-controller-manager")
    return {
        "services": server.option("--service-cluster-ip-range") if server else "",
        "pods": manager.option("--cluster-cidr") if manager else "",
    }


def look(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All parts, and why some are missing."""
    troubles: dict[str, str] = {}
    found: dict[str, Any] = {"troubles": troubles}

    def add(name: str, part: Any, *given: Any) -> Any:
        try:
            found[name] = part(*given)
        except Exception as error:  # noqa: BLE001  one part that breaks must not hide the others
            troubles[name] = f"{type(error).__name__}: {error}"[:LONGEST_TEXT]
        return found.get(name) or {}

    add("os", look_os)
    add("machine", look_machine)
    add("modules", look_modules, arguments["modules"])
    add("sysctls", look_sysctls, arguments["sysctls"])
    add("inotify", look_inotify)
    add("cgroup", look_cgroup)
    daemons = processes()
    kubelet = add("kubelet", look_kubelet, daemons)
    runtime = add("runtime", look_runtime, daemons, kubelet)
    add("selinux", look_selinux)
    add("firewall", look_firewall, daemons)
    add("swap", look_swap)
    paths = {"images": runtime.get("root"), "kubelet": kubelet.get("root"), **arguments["paths"]}
    add("paths", look_paths, {purpose: str(path) for purpose, path in paths.items() if path})
    add("names", look_names, arguments["names"])
    add("connections", look_connections, arguments["connects"])
    add("proxies", look_proxies, daemons)
    add("networks", look_networks, daemons)
    add("time", look_time, daemons)
    return found


def main() -> None:
    """Answer one question of Ansible's."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    if sys.version_info < OLDEST_PYTHON:
        module.fail_json(
            msg=f"Python {sys.version.split()[0]} is too old for this module.", python=sys.version.split()[0]
        )
    signal.alarm(LONGEST_SECONDS)
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{PROGRAMS}"
    module.exit_json(changed=False, facts=look(module.params))


if __name__ == "__main__":
    main()
