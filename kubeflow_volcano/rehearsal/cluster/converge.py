"""From any state of a node to a cluster that matches its specification."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.watch.observer import Subject
from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import Unreachable
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.recipes import NodeDifferences
from kubeflow_volcano.rehearsal.cluster import bootstrap, simulated_nodes, waits
from kubeflow_volcano.rehearsal.cluster.patience import while_progressing
from kubeflow_volcano.rehearsal.host.facts import look_at_host
from kubeflow_volcano.rehearsal.inside.supervisor import is_ready
from kubeflow_volcano.rehearsal.node import network
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.node.daemons import Parts
from kubeflow_volcano.rehearsal.node.files import NODE_NAME, NodeFacts
from kubeflow_volcano.rehearsal.node.node import Node
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec, State

_API_SECONDS, _API_LIMIT_SECONDS = 60.0, 900.0
_ADOPT_SECONDS = 15.0
_READY_SECONDS = 180.0
_STARTING = ("etcd", "kube-apiserver")
_ADMISSION_SECONDS = 30.0
_RETRY_SECONDS = 0.1
_REPORT_SECONDS = 2.0
_ACCOUNT = Subject("v1", "ServiceAccount", namespace="default", fields="metadata.name=default")
_DNS = Subject("v1", "Pod", namespace="kube-system", labels="k8s-app=kube-dns")
_REAL = Subject("v1", "Node", fields=f"metadata.name={NODE_NAME}")
_SIMULATED = Subject("v1", "Node", labels=simulated_nodes.SELECTOR)
_LINKED_PROGRAMS = ("ctr", "kubectl", "kustomize")


@dataclass(slots=True)
class Journal:
    """The changes and milestones of one `up`; each is reported when it is recorded."""

    progress: Progress
    started: float = field(default_factory=time.monotonic)
    changes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def record(self, *changes: str) -> None:
        """Report and keep changes that were made."""
        for change in changes:
            self.progress(change)
        self.changes += changes

    def reached(self, milestone: str) -> None:
        """Report and keep the seconds since the start."""
        self.seconds[milestone] = round(time.monotonic() - self.started, 1)
        self.progress(f"{milestone}: {self.seconds[milestone]} s")


def converge(spec: RehearsalSpec, paths: ClusterPaths, tools: Tools, images: Path, journal: Journal) -> Node:
    """Adopt the running node or start one, then add what the cluster lacks; `images` is the image store.

    Raises:
        ProblemsError: a step failed; nothing is rolled back.
    """
    state = _decide(spec, paths, State.load(paths.state))
    node = _node(paths, state, Parts(tools.programs, images), tools.generation.node)
    cluster = _adopt(node, state, journal)
    patience = 0.0
    if cluster is None:
        patience = _ADMISSION_SECONDS
        shutil.rmtree(paths.removed, ignore_errors=True)
        state = replace(state, fingerprint=node.fingerprint(), started=time.time())
        state.save(paths.state)
        node.start()
        journal.record("the node was started")
        cluster = _connect(node, _API_SECONDS, journal)
    state.save(paths.state)
    for path, target in _links(tools).items():
        _link(paths.home / path, target)
    journal.reached("API ready")
    _complete(cluster, node, state, patience, journal)
    return node


def _decide(spec: RehearsalSpec, paths: ClusterPaths, state: State | None) -> State:
    """The state to come; keeps the former subnet unless something else on the host uses it."""
    busy = network.busy_networks(paths.interface, paths.identity)
    if state and not any(other.overlaps(state.subnet) for other in busy):
        return replace(state, spec=spec)
    return State(spec, network.choose_subnet(paths.identity, busy))


def _node(paths: ClusterPaths, state: State, parts: Parts, differences: NodeDifferences) -> Node:
    facts = NodeFacts(
        name=NODE_NAME,
        veth=network.VethPair(paths.interface, state.subnet, paths.identity),
        cgroup=paths.cgroup,
        may_lower_oom_score=look_at_host().may_lower_oom_score,
        differences=differences,
    )
    return Node(paths, facts, NodeCgroup(read_layout(), paths.cgroup), parts)


def _adopt(node: Node, state: State, journal: Journal) -> Cluster | None:
    """A connection to the running node's API server; None when the node must be started, with the reason recorded."""
    if not node.first_process():
        return None
    if node.fingerprint() != state.fingerprint:
        journal.record("the configuration of the running node has changed: restarting it; etcd's data is kept")
        return None
    if not network.is_connected(node.facts.veth):
        journal.record("the running node has lost its veth pair: restarting it")
        return None
    network.block_default_route(node.facts.veth)
    if write_file(node.paths.kubeconfig, node.kubeconfig("admin"), 0o600):
        journal.record(f"{node.paths.kubeconfig} was rewritten")
    try:
        return _connect(node, _ADOPT_SECONDS, journal)
    except Unreachable:
        journal.record("the API server of the running node does not become ready: restarting the node")
        return None


def _connect(node: Node, still: float, journal: Journal) -> Cluster:
    """Wait until /readyz answers with 200 and a valid certificate: an open port is not enough.

    Gives up when etcd and the API server have done nothing new for `still` seconds.
    """
    reported = elapsed = 0.0
    for elapsed in while_progressing(
        lambda: node.start_signs(_STARTING), still=still, total=_API_LIMIT_SECONDS, pause=_RETRY_SECONDS
    ):
        if not node.first_process():
            raise node.death("it ended before its API server was ready")
        if is_ready(f"{node.facts.api_server}/readyz", str(node.paths.pki / "ca.crt")):
            return Cluster.connect(node.paths.kubeconfig)
        if elapsed - reported >= _REPORT_SECONDS:
            reported = elapsed
            journal.progress(f"waiting for the API server, {elapsed:.0f} s")
    raise Unreachable.problem(
        f"the API server at {node.facts.api_server} is not ready after {elapsed:.0f} s; {' and '.join(_STARTING)} "
        f"may take {_API_LIMIT_SECONDS:.0f} s as long as each {still:.0f} s bring something new.",
        "an API server that answers /readyz.",
        "read `python -m kubeflow_volcano.rehearsal logs kube-apiserver` and `logs etcd`; "
        "`up` restarts the node, `down` and then `up` begin with an empty cluster.",
    )


def _complete(cluster: Cluster, node: Node, state: State, patience: float, journal: Journal) -> None:
    """All steps that need a ready API server; `patience`: seconds until refused pods are only reported."""
    journal.record(*bootstrap.apply_addons(cluster, node.paths.pki / "ca.crt"))
    waits.wait_for(cluster, {_REAL: waits.exists("the real node")}, _READY_SECONDS, journal.progress)
    journal.record(*bootstrap.assign_pod_range(cluster, NODE_NAME), *simulated_nodes.sync(cluster, state.spec))
    wanted = {
        _ACCOUNT: waits.exists("the service account default"),  # without it pods are forbidden
        _REAL: waits.nodes_ready([NODE_NAME], state.started),
        _DNS: waits.pods_ready("the cluster DNS", state.started),
        _SIMULATED: waits.nodes_ready(simulated_nodes.names(state.spec), 0),
    }
    titles = {
        _ACCOUNT: "default service account",
        _REAL: "node Ready",
        _DNS: "DNS Ready",
        _SIMULATED: "simulated nodes Ready",
    }
    began = time.monotonic() - journal.started
    for subject, seconds in waits.wait_for(cluster, wanted, _READY_SECONDS, journal.progress).items():
        journal.seconds[titles[subject]] = round(began + seconds, 1)
    bootstrap.wait_for_placement(cluster, patience=patience, progress=journal.progress)
    journal.reached("everything ready")
    journal.progress(", ".join(f"{title} {seconds} s" for title, seconds in journal.seconds.items()))


def _links(tools: Tools) -> dict[str, Path]:
    """Links in the cluster's directory for users and inventories: programs, and upstream's manifests."""
    programs = {f"bin/{name}": tools.programs[name] for name in _LINKED_PROGRAMS}
    modules = [module for tool in tools.generation.tools for module in tool.sources]
    return programs | {f"upstream/{PurePath(module).name}": tools.source(module) for module in modules}


def _link(path: Path, target: Path) -> None:
    """Make `path` a link to `target`."""
    if path.is_symlink() and path.readlink() == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
