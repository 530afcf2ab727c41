"""The daemons that run on this host. Runs on hosts: Python 3.9 or later, standard library only."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.host_files import (
    assignments,
    listed,
    place,
    read,
)

DAEMONS = (
    "kubelet",
    "containerd",
    "crio",
    "dockerd",
    "cri-dockerd",
    "isulad",
    "k3s",
    "rke2",
    "kube-apiserver",
    "kube-controller-manager",
    "firewalld",
    "chronyd",
    "ntpd",
    "systemd-timesyncd",
)
IN_CONTAINERS = {"kube-apiserver", "kube-controller-manager"}
"""Daemons that belong to the host although they run as its pods."""
_MOST_CHARACTERS = 1 << 16


class Process:
    """A daemon of the host: its pid, its name, its command line."""

    def __init__(self, pid: str, name: str, arguments: list[str]) -> None:
        self.pid, self.name, self.arguments = pid, name, arguments

    def option(self, *names: str) -> str:
        """Value of a flag, as `option` reads it."""
        return option(self.arguments, *names)

    @property
    def program(self) -> str:
        """The running program itself, also where a newer file has taken its place."""
        return f"/proc/{self.pid}/exe"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that it was started with."""
        return assignments(read(f"/proc/{self.pid}/environ").replace("\0", "\n"))


def option(arguments: Sequence[str], *names: str) -> str:
    """Value of a flag in either spelling, `--flag=value` or `--flag value`; empty where it is not given."""
    for position, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag in names:
            return value if equals else "".join(arguments[position + 1 : position + 2])
    return ""


def pids() -> list[str]:
    """Of every process, ascending."""
    return sorted((name for path in listed("/proc") if (name := path.rpartition("/")[2]).isdigit()), key=int)


def processes() -> dict[str, Process]:
    """The daemons of this host by name, the oldest of each; processes of containers have another root and are not."""
    by_name: dict[str, Process] = {}
    here = place("/").stat()
    for pid in pids():
        try:
            arguments = read(f"/proc/{pid}/cmdline", _MOST_CHARACTERS).split("\0")
            name = daemon_of(arguments)
            if not name or name in by_name:
                continue
            there = place(f"/proc/{pid}/root/").stat()
        except OSError:  # it has ended, or may not be looked at
            continue
        if name in IN_CONTAINERS or (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            by_name[name] = Process(pid, name, [argument for argument in arguments if argument])
    return by_name


def daemon_of(arguments: list[str]) -> str:
    """Name of the daemon with this command line, perhaps run by Python; empty for any other program."""
    names = [argument.partition(" ")[0].rpartition("/")[2] for argument in arguments[:3]]
    if not names[0].startswith("python"):
        del names[1:]
    return next((name for name in DAEMONS if name in names), "")
