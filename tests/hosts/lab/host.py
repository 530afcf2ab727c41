"""One test host: its directory, its processes, and the way in."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from tests.hosts.lab.network import Bridge

_BOOT = Path(__file__).with_name("boot.sh")
_NAMESPACES = ("--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child=KILL")
_UP_SECONDS = 120.0
_LOOK_SECONDS = 0.02  # files and sockets of other programs, in a tree of their own: there is nothing to wait on


@dataclass(frozen=True, slots=True)
class Place:
    """What a lab gives to each of its hosts: where it lies, what it is made of, how it is reached."""

    directory: Path
    layers: Sequence[Path]
    sysctls: Path
    groups: Sequence[Path]
    """The lab's control groups, one of each hierarchy; a host has its own below."""
    bridge: Bridge
    number: int
    ssh: Path
    """Directory with id_ed25519 and known_hosts."""


@dataclass
class Host:
    """A host of a lab; `name` is also how it calls itself."""

    name: str
    release: str
    containerd: str
    place: Place
    _first: int = 0
    _outer: subprocess.Popen[str] | None = None
    _faketime: str = ""

    @property
    def address(self) -> str:
        """Where SSH answers, at port 22."""
        return str(IPv4Address(int(self.place.bridge.address) + self.place.number))

    @property
    def pid(self) -> int:
        """Process 1 of the host as the machine knows it; 0 while it is down."""
        return self._first

    @property
    def root(self) -> Path:
        """Its file system as it sees it, with all mounts. Only while it runs."""
        if not self._first:
            raise RuntimeError(f"{self.name} is down")
        return Path(f"/proc/{self._first}/root")

    def start(self) -> Host:
        """Boot it, with the disk that it had; returns when SSH and its services answer."""
        for part in ("root", "upper", "work", "containerd", "volumes"):
            (self.place.directory / part).mkdir(parents=True, exist_ok=True)
        self._host_key()
        self._clock()
        joins = "; ".join(f"echo 0 >{group}/cgroup.procs" for group in self._make_groups())
        command = f"{joins}; exec unshare {' '.join(_NAMESPACES)} sh {_BOOT}"
        with (self.place.directory / "boot.log").open("w") as log:
            self._outer = subprocess.Popen(
                ["sh", "-ec", command],
                env={
                    "PATH": os.environ["PATH"],
                    "DIRECTORY": str(self.place.directory),
                    "LAYERS": ":".join(map(str, self.place.layers)),
                    "SYSCTLS": str(self.place.sysctls),
                    "NAME": self.name,
                    "ADDRESS": f"{self.address}/{self.place.bridge.subnet.prefixlen}",
                    "MACHINE": str(self.place.bridge.address),
                    "UNITS": "containerd" if self.containerd else "",
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self._outer.stdin
        assert self._outer.stdout
        self._first = int(self._outer.stdout.readline() or 0)
        if self._first:
            self.place.bridge.plug(self.place.number, self._outer.pid)
            self._outer.stdin.write("go\n")
        self._outer.stdin.close()
        self._outer.stdout.close()
        self._wait_until_up()
        return self

    def env(self, *, faketime: str = "") -> Host:
        """Move the clock of all programs that use the C library (not of containerd) from the next start on.

        `faketime` is an offset as libfaketime reads it, such as "+3h"; empty for the machine's time.
        """
        self._faketime = faketime
        return self

    def stop(self) -> None:
        """Pull the plug: every process is killed, the disk stays."""
        if self._outer is None:
            return
        if self._outer.poll() is None:  # else the number of process 1 may be somebody else's by now
            os.kill(self._first or self._outer.pid, signal.SIGKILL)
        self._outer.wait()
        self.place.bridge.unplug(self.place.number)
        self._outer, self._first = None, 0

    def remove(self) -> None:
        """Stop it and throw its disk away."""
        self.stop()
        shutil.rmtree(self.place.directory)

    def run(self, command: str, *, check: bool = True, user: str = "root") -> subprocess.CompletedProcess[str]:
        """Run a shell command on the host over SSH.

        Raises:
            CalledProcessError: it ended with another code than 0 and `check` is set.
        """
        done = subprocess.run(
            ["ssh", *self.ssh_options(), f"{user}@{self.address}", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        return done

    def ssh_options(self) -> tuple[str, ...]:
        """How ssh gets in, and knows whom it talks to."""
        return (
            *("-F", "none", "-i", str(self.place.ssh / "id_ed25519"), "-o", "IdentitiesOnly=yes"),
            *("-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
            *("-o", f"UserKnownHostsFile={self.place.ssh / 'known_hosts'}"),
        )

    def _make_groups(self) -> list[Path]:
        groups = [group / str(self.place.number) for group in self.place.groups]
        for group in groups:
            group.mkdir(exist_ok=True)
            # A cpuset takes no process before it has processors and memory nodes.
            for setting in ("cpuset.cpus", "cpuset.mems"):
                if (group.parent / setting).exists():
                    (group / setting).write_text((group.parent / setting).read_text())
        return groups

    def _host_key(self) -> None:
        key = self.place.directory / "upper/etc/ssh/ssh_host_ed25519_key"
        if key.exists():
            return
        key.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", key], check=True)
        public = key.with_name(f"{key.name}.pub").read_text()
        with (self.place.ssh / "known_hosts").open("a") as known:
            known.write(f"{self.address} {public}")

    def _clock(self) -> None:
        etc = self.place.directory / "upper/etc"
        preload, offset = etc / "ld.so.preload", etc / "faketimerc"
        if self._faketime:
            preload.write_text(f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketime.so.1\n")
            offset.write_text(f"{self._faketime}\n")
        else:
            preload.unlink(missing_ok=True)
            offset.unlink(missing_ok=True)

    def _boot_log(self) -> str:
        logs = (self.place.directory / "boot.log", self.place.directory / "upper/var/log/boot.log")
        return "\n".join(log.read_text() for log in logs if log.exists())

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _UP_SECONDS
        socket = "run/containerd/containerd.sock"
        while True:
            if not self._first or self._outer is None or self._outer.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{self.name} did not come up: {self._boot_log()}")
            up = (self.root / "run/sshd.pid").exists()
            if up and (not self.containerd or (self.root / socket).exists()):
                return
            time.sleep(_LOOK_SECONDS)
