"""The node as the host sees it: its files, its first process, its veth pair, its control groups.

Whether a node runs is read from the kernel (process 1 in the cluster's control group), never from a file: a crash
cannot leave a wrong answer.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.inside.boot import Bind, Plan
from kubeflow_volcano.rehearsal.node import network, pki
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup
from kubeflow_volcano.rehearsal.node.daemons import IMAGES, LIBRARY, PROGRAMS, Parts, interpreter, node_duty
from kubeflow_volcano.rehearsal.node.files import (
    CONFIGURATION,
    KUBECONFIGS,
    KWOK_PORT,
    PKI,
    SERVICE_ADDRESS,
    NodeFacts,
    node_files,
)
from kubeflow_volcano.rehearsal.node.network import SERVICE_RANGE, SIMULATED_POD_RANGE, STUB_PORT
from kubeflow_volcano.rehearsal.node.simulated_images import PLATFORM_IMAGES, TRAINING_IMAGES
from kubeflow_volcano.rehearsal.spec import ClusterPaths

_START_SECONDS, _START_LIMIT_SECONDS, _LOOK_SECONDS = 10.0, 60.0, 0.02
_MOST_RESTARTS = 3

# The kubelet and kube-proxy require these (pkg/kubelet/cm/container_manager_linux.go).
_KERNEL_WIDE = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
_OF_THE_NODE = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/bridge/bridge-nf-call-iptables": "1",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One node, running or not."""

    paths: ClusterPaths
    facts: NodeFacts
    cgroup: NodeCgroup
    parts: Parts

    def first_process(self) -> int:
        """Pid on the host of the node's process 1; 0 while the node does not run."""
        return self.cgroup.first_process()

    def fingerprint(self) -> str:
        """Changes with anything that would make a start now give another node, except the path of this Python."""
        plan = self._plan()
        shared = replace(plan, binds=[bind for bind in plan.binds if bind not in _python_bind()])
        text = json.dumps([self._files(), asdict(shared)], sort_keys=True)
        return hashlib.sha256(text.replace(interpreter(), "python").encode()).hexdigest()

    def start(self) -> None:
        """Write the node's files and start it, after stopping what is left of an earlier one.

        Raises:
            ProblemsError: the earlier one could not be stopped, or the node died while it was being built.
        """
        self.stop()
        self._write()
        self.cgroup.create()
        network.block_default_route(self.facts.veth)
        self.paths.logs.mkdir(parents=True, exist_ok=True)
        with (self.paths.logs / "node.log").open("a") as log:
            boot = subprocess.Popen(
                [
                    interpreter(),
                    "-S",
                    "-P",
                    "-B",
                    "-m",
                    "kubeflow_volcano.rehearsal.inside.boot",
                    "enter",
                    str(self._plan_file),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={"PATH": os.defpath + ":/usr/sbin:/sbin", "PYTHONPATH": str(self.paths.library)},
            )
        with boot:  # closing the pipe ends a node that was never connected
            network.connect(self.facts.veth, self._await_first_process())
            assert boot.stdin is not None  # noqa: S101  a pipe, see above
            boot.stdin.write(b"go\n")

    def _await_first_process(self) -> int:
        alive = Deadline(_START_LIMIT_SECONDS).at_most(_START_SECONDS)
        for _ in alive.every(_LOOK_SECONDS):
            if self.cgroup.processes():
                alive.renew()  # it is in its group, and a slow machine is not yet further
            if pid := self.first_process():
                return pid
        raise self.death("its first process did not appear")

    def stop(self) -> None:
        """Kill all of the node's processes, remove their control groups and the veth pair. Files stay.

        Raises:
            ProblemsError: processes do not end, even when killed.
        """
        self.cgroup.kill()
        # The next kubelet would wait 3 s for each container whose group still exists (cAdvisor, manager.go).
        self.cgroup.remove()
        network.disconnect(self.facts.veth.interface)

    def _log_tail(self) -> str:
        """The last lines of the log of the node's own start."""
        try:
            text = (self.paths.logs / "node.log").read_bytes()[-16384:]
        except FileNotFoundError:
            return ""
        return "\n".join(text.decode("utf-8", "replace").splitlines()[-10:])

    def start_signs(self, daemons: Sequence[str]) -> tuple[int, ...]:
        """Changes while these daemons do something new: the sizes of their logs.

        A daemon that ends again and again writes, too, but nothing new: after its third end its log counts no more.
        """
        try:
            runs = read_json((self.paths.logs / "daemons.json").read_text())
        except (OSError, ValueError):
            runs = {}
        steady = [name for name in daemons if runs.get(name, {}).get("restarts", 0) < _MOST_RESTARTS]
        logs = [self.paths.logs / f"{name}.log" for name in (*steady, "node")]
        return tuple(log.stat().st_size if log.is_file() else 0 for log in logs)

    @property
    def _plan_file(self) -> Path:
        return self.paths.home / "plan.json"

    def _plan(self) -> Plan:
        binds = [
            *self.parts.binds(),
            Bind(str(self.parts.images), IMAGES),
            Bind(str(self.paths.library), LIBRARY),
            Bind(str(self.paths.pki), PKI),
            *_python_bind(),
        ]
        if Path("/etc/alternatives").is_dir():  # /usr/sbin/iptables may be a link into it
            binds.append(Bind("/etc/alternatives", "/etc/alternatives"))
        duty = node_duty(self.facts)
        return Plan(
            root=str(self.paths.root),
            joins=[str(path) for path in self.cgroup.joins],
            binds=binds,
            hostname=self.facts.name,
            address=f"{self.facts.address}/30",
            service_range=str(SERVICE_RANGE),
            simulated_range=str(SIMULATED_POD_RANGE),
            stub_port=STUB_PORT,
            own_port=KWOK_PORT,
            sysctls=_KERNEL_WIDE,
            own_sysctls=_OF_THE_NODE,
            command=[
                interpreter(),
                *("-S", "-P", "-B", "-m", "kubeflow_volcano.rehearsal.inside.supervisor"),
                f"{CONFIGURATION}/daemons.json",
            ],
            environment=duty.environment,
        )

    def _files(self) -> dict[str, str]:
        """Text of every file without secrets, by its path below the cluster's directory."""
        resources = importlib.resources.files("kubeflow_volcano.rehearsal")
        configuration = f"root{CONFIGURATION}"
        placement = {
            "index": f"{IMAGES}/index.json",
            "training": TRAINING_IMAGES,
            "platform": PLATFORM_IMAGES,
            "real_node": self.facts.name,
        }
        files = {f"root/{path}": text for path, text in node_files(self.facts).items()}
        files[f"{configuration}/daemons.json"] = json.dumps(asdict(node_duty(self.facts)), indent=2)
        files[f"{configuration}/placement.json"] = json.dumps(placement, indent=2)
        files[f"{configuration}/kwok-stages.yaml"] = (resources / "addons/kwok-stages.yaml").read_text()
        for package in ("kubeflow_volcano", "kubeflow_volcano/rehearsal"):
            files[f"lib/{package}/__init__.py"] = ""
        for module in (resources / "inside").iterdir():
            if module.name.endswith(".py"):
                files[f"lib/kubeflow_volcano/rehearsal/inside/{module.name}"] = module.read_text()
        return files

    def _write(self) -> None:
        programs = self.paths.root / PROGRAMS[1:]
        for stale in (self.paths.root / "etc", self.paths.library, programs):
            shutil.rmtree(stale, ignore_errors=True)
        programs.mkdir(parents=True)
        for name, target in self.parts.links().items():
            (programs / name).symlink_to(target)
        for path, text in self._files().items():
            write_file(self.paths.home / path, text)
        write_file(self._plan_file, json.dumps(asdict(self._plan()), indent=2))
        pki.issue_all(
            self.paths.pki,
            node_name=self.facts.name,
            node_address=self.facts.address,
            service_address=str(SERVICE_ADDRESS),
        )
        for user in (*pki.USERS, "kubelet"):
            inside = self.paths.root / KUBECONFIGS[1:] / f"{user}.kubeconfig"
            write_file(self.paths.kubeconfig if user == "admin" else inside, self.kubeconfig(user), 0o600)

    def kubeconfig(self, user: str) -> str:
        """Text of a kubeconfig for one of the cluster's users."""
        name = f"rehearsal-{self.paths.home.name}"
        return pki.kubeconfig(self.paths.pki, user, server=self.facts.api_server, cluster=name)

    def death(self, what: str) -> ProblemsError:
        """The error for a node that ended, with the end of the node's own log."""
        return ProblemsError.problem(
            f"the node did not start: {what}. End of {self.paths.logs / 'node.log'}:\n{self._log_tail()}\n",
            "a first process that builds the node's namespaces and its root.",
            "fix what the log names, and run `up` again.",
        )


def _python_bind() -> list[Bind]:
    """The directory of this Python, at the same path, unless it is the system's."""
    prefix = str(Path(sys.base_prefix).resolve())
    return [] if Path(prefix).is_relative_to("/usr") else [Bind(prefix, prefix)]
