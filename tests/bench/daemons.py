"""The arguments of the control plane's programs; each keeps its files below the plane's directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.places import ROOT

_SERVICES = "10.96.0.0/16"
# Nodes of a crowd have no leases, and what owns its pods does not exist.
_OF_CROWDS = (
    "--controllers=*,-garbagecollector",
    "--node-monitor-grace-period=24h",
    "--node-startup-grace-period=24h",
)
_PER_SECOND = 2000  # the default scheduler's own 50 per second would be what is measured
_RATE = (f"--kube-api-qps={_PER_SECOND}", f"--kube-api-burst={_PER_SECOND}")
_STAGES = ROOT / "kubeflow_volcano" / "rehearsal" / "addons" / "kwok-stages.yaml"


def credentials(directory: Path, user: str) -> list[str]:
    """How a controller reaches the API server as `user`; it serves nothing itself."""
    path = directory / f"{user}.kubeconfig"
    names = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return [*(f"--{name}={path}" for name in names), "--leader-elect=false", "--secure-port=0"]


def etcd(directory: Path, client: int, peer: int) -> list[str]:
    """A store that is empty, and whose loss nobody minds."""
    return [
        f"--data-dir={directory}/etcd",
        f"--listen-client-urls=http://127.0.0.1:{client}",
        f"--advertise-client-urls=http://127.0.0.1:{client}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-cluster=default=http://127.0.0.1:{peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server(directory: Path, etcd: int, port: int) -> list[str]:
    """An API server whose connections to Services go to the stand-in for webhooks."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": f"{directory}/webhooks.sock"}}}
    selector = {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }
    (directory / "egress.json").write_text(json.dumps(selector))
    keys = directory / "pki"
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--advertise-address=127.0.0.1",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--service-cluster-ip-range={_SERVICES}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={keys}/sa.pub",
        f"--service-account-signing-key-file={keys}/sa.key",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        f"--client-ca-file={keys}/ca.crt",
        f"--tls-cert-file={keys}/apiserver.crt",
        f"--tls-private-key-file={keys}/apiserver.key",
        "--endpoint-reconciler-type=none",  # it refuses a loopback address
        f"--egress-selector-config-file={directory}/egress.json",
    ]


def controller_manager(directory: Path, *, crowded: bool) -> list[str]:
    """All controllers, without a pause for tokens; a crowd's nodes and owners are not looked after."""
    keys = directory / "pki"
    return [
        *credentials(directory, "controller-manager"),
        f"--service-account-private-key-file={keys}/sa.key",
        f"--root-ca-file={keys}/ca.crt",
        "--use-service-account-credentials=true",
        "--kube-api-qps=300",  # as the rehearsal cluster: each controller fetches its own token at the start
        "--kube-api-burst=600",
        "--allocate-node-cidrs=false",
        *(_OF_CROWDS if crowded else []),
    ]


def kwok(directory: Path, port: int, *, node: str, lease_seconds: int) -> list[str]:
    """The simulator of that node and its pods; of all nodes where it has no name. Without seconds it has no leases."""
    return [
        f"--kubeconfig={directory}/kwok.kubeconfig",
        f"--config={_STAGES}",
        f"--manage-single-node={node}" if node else "--manage-all-nodes=true",
        f"--node-lease-duration-seconds={lease_seconds}",
        "--cidr=10.97.0.0/16",
        "--node-ip=127.0.0.1",
        f"--server-address=127.0.0.1:{port}",
    ]


def scheduler(directory: Path) -> list[str]:
    """The default scheduler, which may send as much as Volcano's does by default."""
    return [*credentials(directory, "scheduler"), *_RATE]


def second_scheduler(directory: Path, configuration: Mapping[str, object]) -> list[str]:
    """A kube-scheduler with that configuration, as an administrator; it serves nothing itself."""
    connection = {"kubeconfig": f"{directory}/admin.kubeconfig", "qps": _PER_SECOND, "burst": _PER_SECOND}
    path = directory / "second-scheduler.conf"
    path.write_text(json.dumps({**configuration, "clientConnection": connection}))
    return [f"--config={path}", *credentials(directory, "admin")]


def volcano(directory: Path, configuration: Mapping[str, object]) -> list[str]:
    """Volcano's scheduler with that configuration, as an administrator; it serves nothing itself."""
    path = directory / "volcano-scheduler.conf"
    path.write_text(json.dumps(configuration))
    return [
        f"--kubeconfig={directory}/admin.kubeconfig",
        f"--scheduler-conf={path}",
        "--leader-elect=false",
        "--cache-dumper=false",
        *_RATE,
    ]
