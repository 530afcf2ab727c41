"""A lab: test hosts with one network, one key to get in, and one place on the disk."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network
from pathlib import Path

import yaml

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.lock import hold_lock
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from tests.hosts.lab.base import RELEASES, ensure_tree, hosts_home
from tests.hosts.lab.host import Host, Place
from tests.hosts.lab.layer import write_containerd, write_layer
from tests.hosts.lab.network import Bridge, choose_subnet
from tests.hosts.lab.programs import add_containerd
from tests.hosts.lab.registry import Answer, Registry
from tests.playing import ansible

_AREAS = ("fs", "kernel", "user", "vm")
_HIDDEN = ("fs/binfmt_misc", "kernel/sched_domain")
_MOST = 1000
"""Hosts are numbered from 1: as many as their addresses have room for, and the names of their interfaces."""
_PATIENCE_SECONDS = 300.0


class Lab:
    """Starts hosts; `remove` takes away all that it made. Safe to use from several threads.

    `seed`: eight hexadecimal digits that name it. The next lab removes those whose process has ended, but not what is
    `kept`.
    """

    def __init__(self, seed: str = "", *, kept: bool = False, progress: Progress = silent) -> None:
        if os.geteuid() != 0:
            raise InvalidInput(Problem("you are not root.", "root, for namespaces and a bridge.", "start as root."))
        self.seed = seed or secrets.token_hex(4)
        self.directory = self.home(self.seed)
        self.hosts: list[Host] = []
        self.registries: list[Registry] = []
        self._progress = progress
        self._cgroup = _cgroup(self.seed)
        self._lock = threading.Lock()
        self._numbers = iter(range(1, _MOST))
        with hold_lock(_labs().with_name(".labs.lock"), progress, _PATIENCE_SECONDS, doing="is making a lab"):
            _sweep()
            self.directory.mkdir(parents=True, mode=0o700)
            _claim(self.directory, kept=kept)
            self.bridge = Bridge(self.seed, choose_subnet(self.seed))
            self.bridge.create()
        self._cgroup.create()
        self._groups = [path.parent for path in self._cgroup.joins]
        if unified := self._cgroup.layout.unified:
            self._groups.append(unified / self._cgroup.name)
            self._groups[-1].mkdir()
        key = self.directory / "id_ed25519"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", key], check=True)
        (self.directory / "known_hosts").touch()
        _copy_sysctls(self.directory / "sysctls")

    def start(self, release: str = "24.03", containerd: str = "", name: str = "") -> Host:
        """A new host of that openEuler release, up and with the containerd of that version; "" for none."""
        with self._lock:
            number = next(self._numbers)
            layers = self._layers(release, containerd)
            name = name or f"host-{number}"
            directory = self.directory / "hosts" / name
            place = Place(
                directory, layers, self.directory / "sysctls", self._groups, self.bridge, number, self.directory
            )
            host = Host(name, release, containerd, place)
            self.hosts.append(host)
        return host.start()

    def start_many(self, count: int, release: str = "24.03", containerd: str = "", name: str = "host") -> list[Host]:
        """So many hosts of one kind, called `name`-1 and so on."""
        with ThreadPoolExecutor(4) as pool:
            names = [f"{name}-{number}" for number in range(1, count + 1)]
            return list(pool.map(lambda each: self.start(release, containerd, each), names))

    def registry(self, *, tls: bool = True, answers: Sequence[Answer] = ()) -> Registry:
        """A registry that all hosts reach. `answers` are statuses for the first requests; see `Registry.answer`."""
        directory = self.directory / f"registry-{len(self.registries) + 1}"
        registry = Registry(str(self.bridge.address), directory, tls, answers)
        self.registries.append(registry)
        return registry

    def inventory(self, directory: Path, hosts: Sequence[Host], **variables: object) -> Path:
        """Write `directory`/hosts.yml: group nodes has all hosts, control_plane the first; `variables` are for all.

        Roles are played as root. For the user ops, whose sudo asks for a password, pass ansible_user="ops",
        ansible_become=True and ansible_become_password.
        """
        entries = {host.name: {"ansible_host": host.address} for host in hosts}
        known = {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.directory / "id_ed25519"),
            "ansible_ssh_common_args": f"-F none -o IdentitiesOnly=yes -o UserKnownHostsFile={self.known_hosts}",
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        content = {
            "all": {
                "hosts": entries,
                "vars": {**known, **variables},
                "children": {
                    "control_plane": {"hosts": {host.name: {} for host in hosts[:1]}},
                    "nodes": {"hosts": {host.name: {} for host in hosts}},
                },
            }
        }
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "hosts.yml"
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        return path

    @property
    def known_hosts(self) -> Path:
        """The hosts' keys, as ssh reads them."""
        return self.directory / "known_hosts"

    @staticmethod
    def play(playbook: str | Path, inventory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a playbook, relative to the checkout, with ansible-playbook. Its exit code is the caller's to judge."""
        return ansible("-i", inventory, playbook, *arguments)

    def remove(self) -> None:
        """End every process of the lab, and take its network, control groups and files away."""
        for registry in self.registries:
            registry.stop()
        for host in self.hosts:
            host.stop()
        _remove(self.directory)

    @staticmethod
    def is_up(seed: str) -> bool:
        """Whether hosts of that lab run, whoever started them."""
        return bool(_cgroup(seed).processes())

    @staticmethod
    def clear(seed: str) -> None:
        """Remove a lab, whoever made it; none of that name is fine, too."""
        _remove(Lab.home(seed))

    @staticmethod
    def home(seed: str) -> Path:
        """Where a lab of that name has its files."""
        return _labs() / seed

    def _layers(self, release: str, containerd: str) -> list[Path]:
        own = self.directory / "layers" / release
        if not own.exists():
            write_layer(own, RELEASES[release], (self.directory / "id_ed25519.pub").read_text())
        layers = [own, ensure_tree(RELEASES[release], self._progress)]
        if containerd:
            programs = self.directory / "layers" / f"containerd-{containerd}"
            if not programs.exists():
                add_containerd(containerd, programs, self._progress)
                write_containerd(programs, containerd)
            layers.insert(0, programs)
        return layers


def _sweep() -> None:
    """Remove labs whose owner has ended without removing them."""
    for directory in _labs().glob("*"):
        if not _owned(directory):
            _remove(directory)


def _labs() -> Path:
    return hosts_home() / "labs"


def _cgroup(seed: str) -> NodeCgroup:
    return NodeCgroup(read_layout(), f"kfv-lab-{seed}")


def _claim(directory: Path, *, kept: bool) -> None:
    owner = {} if kept else {"pid": os.getpid(), "started": _started(os.getpid())}
    (directory / "owner.json").write_text(json.dumps(owner))


def _owned(directory: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, KeyError):
        owner: dict[str, int] = json.loads((directory / "owner.json").read_text())
        return not owner or _started(owner["pid"]) == owner["started"]
    return False


def _started(pid: int) -> int:
    """When a process was started, in clock ticks since boot; 0 when there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 0


def _remove(directory: Path) -> None:
    cgroup = _cgroup(directory.name)
    cgroup.kill()
    cgroup.remove()
    Bridge(directory.name, IPv4Network("0.0.0.0/24")).remove()
    if directory.exists():
        shutil.rmtree(directory)


def _copy_sysctls(target: Path) -> None:
    """The machine's settings as plain files, which hosts see and may change instead of the machine's."""
    for source in _settings(Path("/proc/sys")):
        copy = target / source.relative_to("/proc/sys")
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            copy.write_bytes(source.read_bytes())
        except OSError:  # some can be written only
            copy.touch()
        copy.chmod(source.stat().st_mode & 0o777)


def _settings(top: Path) -> Iterator[Path]:
    for area in _AREAS:
        for directory, names, files in os.walk(top / area):
            here = Path(directory)
            names[:] = [name for name in names if str((here / name).relative_to(top)) not in _HIDDEN]
            yield from (here / name for name in files)
