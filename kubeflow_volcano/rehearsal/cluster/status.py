"""What runs, which pods are real, which webhooks a stub answers.

Read from the kernel, the supervisor's file and the API server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.problems import Unreachable
from kubeflow_volcano.rehearsal.inside.placement import GPU, REASON_ANNOTATION, SIMULATED_LABEL
from kubeflow_volcano.rehearsal.inside.webhook_stub import REGISTER
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.node.processes import host_numbers
from kubeflow_volcano.rehearsal.spec import ClusterPaths

__all__ = ["ClusterStatus", "DaemonStatus", "NodeStatus", "PodStatus", "WebhookStatus", "render", "status"]

_REGISTER = Ref("v1", "ConfigMap", "kube-system", REGISTER)


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """A daemon of the node; `pid` as this machine counts, 0 while it does not run."""

    name: str
    pid: int
    restarts: int
    last_exit: str


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node of the cluster, real or simulated."""

    name: str
    simulated: bool
    ready: bool
    gpus: int


@dataclass(frozen=True, slots=True)
class PodStatus:
    """A pod, and whether it runs for real; `because` says why the placement webhook simulates it."""

    namespace: str
    name: str
    phase: str
    node: str
    simulated: bool
    because: str


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """Webhooks of one configuration, or the conversion of one definition, that the stub answers."""

    kind: str
    name: str
    webhooks: tuple[str, ...]
    services: tuple[str, ...]
    """Services (namespace/name) that the API server calls; their pods are simulated."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """Everything that is known of one cluster. `trouble`: why the API server could not be asked."""

    name: str
    pid: int
    kubeconfig: Path
    daemons: tuple[DaemonStatus, ...] = ()
    nodes: tuple[NodeStatus, ...] = ()
    pods: tuple[PodStatus, ...] = ()
    webhooks: tuple[WebhookStatus, ...] = ()
    trouble: str = ""

    @property
    def ready(self) -> bool:
        """Whether the API server answers and all nodes are Ready."""
        return bool(self.nodes) and all(node.ready for node in self.nodes)


def status(name: str) -> ClusterStatus:
    """Look at the cluster called `name`; changes nothing, and copes with one that is half there."""
    paths = ClusterPaths.of(name)
    numbers = host_numbers(NodeCgroup(read_layout(), paths.cgroup))
    pid = numbers.get(1, 0)
    if not pid:
        return ClusterStatus(name, 0, paths.kubeconfig, trouble="the node does not run")
    daemons = _daemons(paths.logs / "daemons.json", numbers)
    try:
        cluster = Cluster.connect(paths.kubeconfig)
        nodes = cluster.list("v1", "Node").items
        pods = cluster.list("v1", "Pod").items
        register = cluster.get(_REGISTER)
    except (Unreachable, ApiError) as error:
        return ClusterStatus(name, pid, paths.kubeconfig, daemons, trouble=str(error))
    seen = tuple(_node(node) for node in nodes)
    simulated = {node.name for node in seen if node.simulated}
    return ClusterStatus(
        name,
        pid,
        paths.kubeconfig,
        daemons,
        seen,
        tuple(_pod(pod, simulated) for pod in pods),
        tuple(_webhooks(register)),
    )


def _webhooks(register: Object | None) -> Iterator[WebhookStatus]:
    """What the stub says of itself; nothing before it has begun."""
    for entry in json.loads(register["data"]["webhooks.json"]) if register else ():
        yield WebhookStatus(entry["kind"], entry["name"], tuple(entry["webhooks"]), tuple(entry["services"]))


def _daemons(path: Path, numbers: Mapping[int, int]) -> tuple[DaemonStatus, ...]:
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError):
        return ()
    return tuple(
        DaemonStatus(name, numbers.get(run["pid"], 0), run["restarts"], run["lastExit"]) for name, run in raw.items()
    )


def _node(node: Object) -> NodeStatus:
    meta = node["metadata"]
    return NodeStatus(
        name=meta["name"],
        simulated=SIMULATED_LABEL in meta.get("labels", {}),
        ready=conditions(node).get("Ready", {}).get("status") == "True",
        gpus=int(node["status"].get("allocatable", {}).get(GPU, 0)),
    )


def _pod(pod: Object, simulated_nodes: set[str]) -> PodStatus:
    meta = pod["metadata"]
    node = pod["spec"].get("nodeName", "")
    return PodStatus(
        namespace=meta["namespace"],
        name=meta["name"],
        phase=_phase(pod),
        node=node,
        simulated=node in simulated_nodes or SIMULATED_LABEL in meta.get("labels", {}),
        because=meta.get("annotations", {}).get(REASON_ANNOTATION, ""),
    )


def _phase(pod: Object) -> str:
    """The phase, or the reason for which a container waits: `Pending` alone hides a missing image."""
    waiting = (item.get("state", {}).get("waiting", {}) for item in pod["status"].get("containerStatuses") or ())
    return str(
        next((state["reason"] for state in waiting if state.get("reason")), pod["status"].get("phase", "Unknown"))
    )


def render(found: ClusterStatus) -> str:
    """The same as text for a terminal."""
    lines = [f"cluster {found.name}: " + (found.trouble or ("ready" if found.ready else "not ready"))]
    if found.pid:
        lines.append(f"node process {found.pid}, kubeconfig {found.kubeconfig}")
    if found.daemons:
        lines += [
            "",
            *_table(("DAEMON", "PID", "RESTARTS", "LAST EXIT"), [_daemon_row(item) for item in found.daemons]),
        ]
    if found.nodes:
        nodes = [
            (
                node.name,
                "simulated" if node.simulated else "real",
                "Ready" if node.ready else "NotReady",
                str(node.gpus),
            )
            for node in found.nodes
        ]
        lines += ["", *_table(("NODE", "KIND", "STATE", "GPUS"), nodes)]
    if found.pods:
        pods = [
            (f"{pod.namespace}/{pod.name}", "simulated" if pod.simulated else "real", pod.phase, pod.node, pod.because)
            for pod in found.pods
        ]
        lines += ["", *_table(("POD", "KIND", "STATE", "NODE", "SIMULATED BECAUSE"), pods)]
    if found.webhooks:
        head = ("ANSWERED BY THE STUB, WITHOUT JUDGING", "WEBHOOKS", "SERVICES")
        rows = [
            (f"{item.kind}/{item.name}", str(len(item.webhooks)), ", ".join(item.services)) for item in found.webhooks
        ]
        lines += ["", *_table(head, rows)]
    return "\n".join(lines) + "\n"


def _daemon_row(daemon: DaemonStatus) -> tuple[str, ...]:
    return (daemon.name, str(daemon.pid or "-"), str(daemon.restarts), daemon.last_exit)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]
