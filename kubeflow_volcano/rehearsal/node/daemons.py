"""The programs of a node, and the arguments of those that run as daemons. No secret is among them: keys are files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.rehearsal.inside.boot import SIMULATED_NETWORK, Bind
from kubeflow_volcano.rehearsal.inside.supervisor import Daemon, Duty
from kubeflow_volcano.rehearsal.node.files import (
    CONFIGURATION,
    KUBECONFIGS,
    KWOK_PORT,
    PKI,
    PLACEMENT_PORT,
    REGISTRY_PORT,
    NodeFacts,
)
from kubeflow_volcano.rehearsal.node.network import SERVICE_RANGE, SIMULATED_POD_RANGE, STUB_PORT

PROGRAMS, IMAGES, LIBRARY = "/host/bin", "/host/images", "/host/lib"
"""Where the node sees the tools, the image store and the modules of this package."""
NODE_PROGRAMS = (
    *("bridge", "containerd", "containerd-shim-runc-v2", "ctr", "etcd", "host-local", "kube", "kubectl", "kwok"),
    *("loopback", "portmap", "runc"),
)
LOGS = "/var/log/rehearsal"
NODE_PATH = f"{PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ETCD = "http://127.0.0.1:2379"
_ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Parts:
    """Files of the programs by name, of which the node uses `NODE_PROGRAMS`, and the directory of the image store."""

    programs: Mapping[str, Path]
    images: Path

    def binds(self) -> list[Bind]:
        """The directories that hold the programs, and where the node sees each."""
        directories = sorted({self.programs[name].parent for name in NODE_PROGRAMS})
        return [Bind(str(directory), self._inside(directory)) for directory in directories]

    def links(self) -> dict[str, str]:
        """Path of each program in the node, by name."""
        return {name: f"{self._inside(self.programs[name].parent)}/{name}" for name in NODE_PROGRAMS}

    @staticmethod
    def _inside(directory: Path) -> str:
        return f"/host/tools/{directory.parent.name}"


def node_duty(facts: NodeFacts) -> Duty:
    """The daemons that process 1 of the node keeps running, in the order of their start."""

    def kube(name: str, arguments: list[str], *, needs_api: bool = True) -> Daemon:
        return _kube(name, [*arguments, *facts.differences.arguments.get(name, ())], needs_api=needs_api)

    return Duty(
        daemons=[
            _tool("etcd", "etcd", _etcd()),
            python_module("registry", "kubeflow_volcano.rehearsal.inside.registry", IMAGES, str(REGISTRY_PORT)),
            _tool("containerd", "containerd", ["--config", "/etc/containerd/config.toml"]),
            kube("kube-apiserver", _api_server(facts), needs_api=False),
            python_module(
                "placement",
                "kubeflow_volcano.rehearsal.inside.placement_server",
                f"{CONFIGURATION}/placement.json",
                str(PLACEMENT_PORT),
                PKI,
            ),
            kube("kube-controller-manager", _controller_manager()),
            kube("kube-scheduler", [*_credentials("scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1"]),
            kube("kubelet", _kubelet(facts)),
            kube(
                "kube-proxy",
                [f"--config={CONFIGURATION}/kube-proxy.json", f"--hostname-override={facts.name}"],
            ),
            _tool("kwok", "kwok", _kwok(facts), needs_api=True),
            _webhook_stub(facts),
        ],
        environment={
            "PATH": NODE_PATH,
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "PYTHONPATH": LIBRARY,
        },
        log_directory=LOGS,
        status_file=f"{LOGS}/daemons.json",
        ready_url=f"{facts.api_server}/readyz",
        authority=f"{PKI}/ca.crt",
    )


def interpreter() -> str:
    """Path of the Python that runs inside the node: this one, without its virtual environment."""
    # An environment may have a copy of the interpreter (`venv --copies`), which no directory in the node has.
    return str(Path(getattr(sys, "_base_executable", None) or sys.executable).resolve())


def python_module(name: str, module: str, *arguments: str) -> Daemon:
    """A module of `inside` as a daemon."""
    program = interpreter()
    return Daemon(name, program, [program, "-S", "-P", "-B", "-m", module, *arguments])


def _webhook_stub(facts: NodeFacts) -> Daemon:
    arguments = (facts.api_server, PKI, str(STUB_PORT), str(SIMULATED_POD_RANGE), f"{IMAGES}/index.json")
    stub = python_module("webhook-stub", "kubeflow_volcano.rehearsal.inside.webhook_stub", *arguments)
    enter = ["nsenter", f"--net=/run/netns/{SIMULATED_NETWORK}"]
    return Daemon(stub.name, "/usr/bin/nsenter", [*enter, *stub.command], needs_api=True)


def _tool(name: str, program: str, arguments: list[str], *, needs_api: bool = False) -> Daemon:
    return Daemon(name, f"{PROGRAMS}/{program}", [program, *arguments], needs_api)


def _kube(name: str, arguments: list[str], *, needs_api: bool) -> Daemon:
    """One binary is all of Kubernetes and chooses the component by argv[0]."""
    return Daemon(name, f"{PROGRAMS}/kube", [name, *arguments], needs_api)


def _etcd() -> list[str]:
    return [
        "--data-dir=/var/lib/etcd",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",  # a crash of the host may lose a rehearsal; a crash of the node does not
        "--log-level=warn",
    ]


def _api_server(facts: NodeFacts) -> list[str]:
    return [
        f"--etcd-servers={_ETCD}",
        f"--advertise-address={facts.address}",
        "--bind-address=0.0.0.0",
        "--secure-port=6443",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--service-account-issuer={_ISSUER}",
        f"--service-account-key-file={PKI}/sa.pub",
        f"--service-account-signing-key-file={PKI}/sa.key",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--client-ca-file={PKI}/ca.crt",
        f"--tls-cert-file={PKI}/apiserver.crt",
        f"--tls-private-key-file={PKI}/apiserver.key",
        f"--kubelet-client-certificate={PKI}/apiserver-kubelet.crt",
        f"--kubelet-client-key={PKI}/apiserver-kubelet.key",
        f"--kubelet-certificate-authority={PKI}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={PKI}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={PKI}/front-proxy.crt",
        f"--proxy-client-key-file={PKI}/front-proxy.key",
    ]


def _controller_manager() -> list[str]:
    return [
        *_credentials("controller-manager"),
        f"--service-account-private-key-file={PKI}/sa.key",
        f"--root-ca-file={PKI}/ca.crt",
        f"--cluster-signing-cert-file={PKI}/ca.crt",
        f"--cluster-signing-key-file={PKI}/ca.key",
        "--use-service-account-credentials=true",
        # Each controller fetches its own token at the start: the default 20 requests per second make that 20 seconds.
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        "--leader-elect=false",
        "--allocate-node-cidrs=false",  # the allocator sleeps 10 s at the start, and delays all other controllers
        "--bind-address=127.0.0.1",
    ]


def _kubelet(facts: NodeFacts) -> list[str]:
    return [
        f"--kubeconfig={KUBECONFIGS}/kubelet.kubeconfig",
        f"--config={CONFIGURATION}/kubelet.json",
        f"--hostname-override={facts.name}",
        f"--node-ip={facts.address}",
    ]


def _kwok(facts: NodeFacts) -> list[str]:
    return [
        f"--kubeconfig={KUBECONFIGS}/kwok.kubeconfig",
        f"--config={CONFIGURATION}/kwok-stages.yaml",
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
        f"--cidr={SIMULATED_POD_RANGE}",
        f"--node-ip={facts.address}",
        f"--node-port={KWOK_PORT}",
        f"--server-address=0.0.0.0:{KWOK_PORT}",
        f"--tls-cert-file={PKI}/kubelet-serving.crt",
        f"--tls-private-key-file={PKI}/kubelet-serving.key",
    ]


def _credentials(user: str) -> list[str]:
    path = f"{KUBECONFIGS}/{user}.kubeconfig"
    return [f"--kubeconfig={path}", f"--authentication-kubeconfig={path}", f"--authorization-kubeconfig={path}"]
