"""What runs, which pods are real, which webhooks the stub answers.

Read from the kernel, the supervisor's file and the API server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import Unreachable
from kubeflow_volcano.rehearsal.cluster.simulated_nodes import devices_of
from kubeflow_volcano.rehearsal.inside.placement import REASON_ANNOTATION, SIMULATED_LABEL
from kubeflow_volcano.rehearsal.inside.webhook_stub import REGISTER
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from kubeflow_volcano.text import table

_REGISTER = Ref("v1", "ConfigMap", "kube-system", REGISTER)


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """A daemon of the node; `pid` is that on this machine, 0 while the daemon does not run."""

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
    devices: str


@dataclass(frozen=True, slots=True)
class PodStatus:
    """A pod; `because` is the reason for which the placement webhook simulates it."""

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
    """All that is known of one cluster. `trouble`: why the API server could not be read."""

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


def read_status(name: str) -> ClusterStatus:
    """Read the status of the cluster called `name`, in any state; changes nothing."""
    paths = ClusterPaths.of(name)
    pids = NodeCgroup(read_layout(), paths.cgroup).host_pids()
    pid = pids.get(1, 0)
    if not pid:
        return ClusterStatus(name, 0, paths.kubeconfig, trouble="the node does not run")
    daemons = _daemons(paths.logs / "daemons.json", pids)
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
    """What the stub reports; nothing before its first report."""
    for entry in read_json(register["data"]["webhooks.json"]) if register else ():
        yield WebhookStatus(entry["kind"], entry["name"], tuple(entry["webhooks"]), tuple(entry["services"]))


def _daemons(path: Path, pids: Mapping[int, int]) -> tuple[DaemonStatus, ...]:
    try:
        raw = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(
        DaemonStatus(name, pids.get(run["pid"], 0), run["restarts"], run["lastExit"]) for name, run in raw.items()
    )


def _node(node: Object) -> NodeStatus:
    meta = node["metadata"]
    return NodeStatus(
        name=meta["name"],
        simulated=SIMULATED_LABEL in meta.get("labels", {}),
        ready=conditions(node).get("Ready", {}).get("status") == "True",
        devices=devices_of(node),
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


def render(status: ClusterStatus) -> str:
    """The status as text for a terminal."""
    lines = [f"cluster {status.name}: " + (status.trouble or ("ready" if status.ready else "not ready"))]
    if status.pid:
        lines.append(f"node process {status.pid}, kubeconfig {status.kubeconfig}")
    for head, rows in (
        (("DAEMON", "PID", "RESTARTS", "LAST EXIT"), [_daemon_row(item) for item in status.daemons]),
        (("NODE", "KIND", "STATE", "DEVICES"), [_node_row(item) for item in status.nodes]),
        (("POD", "KIND", "STATE", "NODE", "SIMULATED BECAUSE"), [_pod_row(item) for item in status.pods]),
        (
            ("ANSWERED BY THE STUB, WITHOUT VALIDATION", "WEBHOOKS", "SERVICES"),
            [_webhook_row(item) for item in status.webhooks],
        ),
    ):
        if rows:
            lines += ["", *table([head, *rows])]
    return "\n".join(lines) + "\n"


def _daemon_row(daemon: DaemonStatus) -> tuple[str, ...]:
    return (daemon.name, str(daemon.pid or "-"), str(daemon.restarts), daemon.last_exit)


def _node_row(node: NodeStatus) -> tuple[str, ...]:
    return (node.name, _kind(simulated=node.simulated), "Ready" if node.ready else "NotReady", node.devices or "-")


def _pod_row(pod: PodStatus) -> tuple[str, ...]:
    return (f"{pod.namespace}/{pod.name}", _kind(simulated=pod.simulated), pod.phase, pod.node, pod.because)


def _webhook_row(item: WebhookStatus) -> tuple[str, ...]:
    return (f"{item.kind}/{item.name}", str(len(item.webhooks)), ", ".join(item.services))


def _kind(*, simulated: bool) -> str:
    return "simulated" if simulated else "real"
