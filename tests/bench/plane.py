"""A control plane that is empty at every start: etcd, API server, controllers, scheduler, one simulated node.

No kubelet and no containers: KWOK reports the pods as running, and stand-ins answer for webhooks (webhooks.py). All
are plain processes on the loopback interface with a fresh etcd, so that a sample begins as a new cluster does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem, ProblemsError, Unreachable
from kubeflow_volcano.rehearsal.node import pki
from tests.bench import daemons
from tests.bench.ours import peak_mib

_START_SECONDS = 300.0
_QUIET_SHARE, _QUIET_WINDOW_SECONDS, _QUIET_SECONDS = 0.15, 2.0, 60.0
_TICKS = os.sysconf("SC_CLK_TCK")
_VOLUMES = 8  # more than any release claims
_NODE = "bench"
_LEASE_SECONDS = 40
_NODES_COME_READY = ("--disable-admission-plugins=TaintNodesByCondition",)


@dataclass
class Plane:
    """One control plane below `directory`, made of `programs`; `namespaces` are those of the webhooks' Services.

    With `crowded`, nodes and pods may be written that nobody simulates and nobody clears away; `simulated` has KWOK
    play the kubelet of all of them, without leases. `arguments` are further ones by program.
    """

    programs: Mapping[str, Path]
    directory: Path
    namespaces: Sequence[str]
    crowded: bool = False
    simulated: bool = False
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    store: str = field(default="", init=False)
    """The address of etcd, while it runs."""
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        """Credentials of a cluster administrator."""
        return self.directory / "admin.kubeconfig"

    def __enter__(self) -> Self:
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def server_seconds(self) -> float:
        """CPU seconds that the API server has used."""
        return self.cpu_seconds("kube-apiserver")

    def cpu_seconds(self, name: str) -> float:
        """CPU seconds that one of the programs has used."""
        stat = Path(f"/proc/{self._running[name].pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def peak_mib(self, name: str) -> float:
        """The most memory that one of the programs ever had resident."""
        return peak_mib(self._running[name].pid)

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Run one more of the programs, until the end of the block."""
        self._run(name, arguments)

    def stop(self, name: str) -> None:
        """End one of the programs."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def settle(self) -> None:
        """Wait until the API server is nearly idle, or has not become so for a minute."""
        until = time.monotonic() + _QUIET_SECONDS
        while time.monotonic() < until:
            before = self.server_seconds()
            time.sleep(_QUIET_WINDOW_SECONDS)
            if self.server_seconds() - before < _QUIET_SHARE * _QUIET_WINDOW_SECONDS:
                return

    def _start(self) -> None:
        keys = self.directory / "pki"
        pki.issue_all(keys, node_name="bench", node_address="127.0.0.1", service_address="10.96.0.1")
        etcd, peer, api, kwok = _free_ports(4)
        for user in ("admin", "controller-manager", "scheduler", "kwok"):
            text = pki.kubeconfig(keys, user, server=f"https://127.0.0.1:{api}", cluster="bench")
            (self.directory / f"{user}.kubeconfig").write_text(text)
        self.store = f"http://127.0.0.1:{etcd}"
        self._run("etcd", daemons.etcd(self.directory, etcd, peer))
        self._run_webhooks()
        environment = {"SSL_CERT_FILE": str(self.directory / "webhooks.crt")}
        ready = _NODES_COME_READY if self.simulated else ()
        self._run("kube-apiserver", [*daemons.api_server(self.directory, etcd, api), *ready], environment)
        cluster = self._reach()
        self._run("kube-controller-manager", daemons.controller_manager(self.directory, crowded=self.crowded))
        self._run("kube-scheduler", daemons.credentials(self.directory, "scheduler"))
        alone = self.crowded and not self.simulated
        lease = 0 if self.simulated else _LEASE_SECONDS
        self._run("kwok", daemons.kwok(self.directory, kwok, node=_NODE if alone else "", lease_seconds=lease))
        for obj in (_node(), *map(_volume, range(_VOLUMES))):
            cluster.create(obj)
        self._await(cluster, Ref("v1", "ServiceAccount", "default", "default"))
        self.settle()

    def _run(self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        more = self.arguments.get(name, ())
        self._spawn(name, [str(self.programs[name]), *arguments, *more], environment or {})

    def _run_webhooks(self) -> None:
        certificate, key = self.directory / "webhooks.crt", self.directory / "webhooks.key"
        names = ",".join(f"DNS:*.{namespace}.svc" for namespace in self.namespaces) or "DNS:none.invalid"
        request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        request += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=bench-webhooks"]
        subprocess.run([*request, "-addext", f"subjectAltName={names}"], check=True, capture_output=True)
        arguments = [str(self.directory / "webhooks.sock"), str(certificate), str(key)]
        self._spawn("webhooks", [sys.executable, "-m", "tests.bench.webhooks", *arguments], {})

    def _spawn(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
            )

    def _reach(self) -> Cluster:
        for _ in self.tries("the API server to answer"):
            with contextlib.suppress(ApiError, Unreachable):
                cluster = Cluster.connect(self.kubeconfig)
                # The controller manager ends where this has no good answer within ten seconds.
                cluster.text("/healthz", {}, Deadline(5), most=100)
                if cluster.get(Ref("v1", "Namespace", "", "default")):
                    return cluster
        raise AssertionError  # tries ends by an exception

    def _await(self, cluster: Cluster, ref: Ref) -> None:
        for _ in self.tries(f"{ref} to be made"):
            if cluster.get(ref):
                return

    def tries(self, what: str) -> Iterator[None]:
        """Time and again, for as long as a start may take.

        Raises:
            ProblemsError: the time is over, or a program has ended.
        """
        until = time.monotonic() + _START_SECONDS
        while True:
            yield
            ended = [name for name, process in self._running.items() if process.poll() is not None]
            if ended or time.monotonic() > until:
                raise ProblemsError(
                    Problem(
                        f"{', '.join(ended) or 'no program'} of the control plane ended while waiting for {what}.",
                        f"it within {_START_SECONDS:.0f} s.",
                        f"read {self.directory}/*.log.",
                    )
                )
            time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _node() -> Object:
    room = {"cpu": "256", "memory": "1Ti", "pods": "1000", "ephemeral-storage": "1Ti"}
    meta = {
        "name": _NODE,
        "labels": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": _NODE, "kubernetes.io/arch": "amd64"},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"capacity": room, "allocatable": room}}


def _volume(number: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{number}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "50Gi"},
            "hostPath": {"path": "/none"},
        },
    }
