"""From whatever there is of a node to a whole cluster of one specification."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.watch.observer import Subject
from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import Problem, Unreachable
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.build.recipes import NodeDifferences
from kubeflow_volcano.rehearsal.build.tools import Tools
from kubeflow_volcano.rehearsal.cluster import bootstrap, simulated_nodes, waits
from kubeflow_volcano.rehearsal.host.facts import look_at_host
from kubeflow_volcano.rehearsal.inside.supervisor import answers_ready
from kubeflow_volcano.rehearsal.node import network
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.node.files import NODE_NAME, NodeFacts
from kubeflow_volcano.rehearsal.node.node import Node
from kubeflow_volcano.rehearsal.node.parts import Parts
from kubeflow_volcano.rehearsal.node.state import State
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec

__all__ = ["Journal", "converge"]

_API_SECONDS = 60.0
_ADOPT_SECONDS = 15.0
_READY_SECONDS = 180.0
_ADMISSION_SECONDS = 30.0
_RETRY_SECONDS = 0.1
_TELL_SECONDS = 2.0
_ACCOUNT = Subject("v1", "ServiceAccount", namespace="default", fields="metadata.name=default")
_DNS = Subject("v1", "Pod", namespace="kube-system", labels="k8s-app=kube-dns")
_REAL = Subject("v1", "Node", fields=f"metadata.name={NODE_NAME}")
_SIMULATED = Subject("v1", "Node", labels=simulated_nodes.SELECTOR)
_LINKED_PROGRAMS = ("ctr", "kubectl", "kustomize")


@dataclass(slots=True)
class Journal:
    """What was done so far, told as it happens, and how long things took."""

    progress: Progress
    started: float = field(default_factory=time.monotonic)
    changes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def did(self, *changes: str) -> None:
        """Tell and keep what was just done."""
        for change in changes:
            self.progress(change)
        self.changes += changes

    def reached(self, milestone: str) -> None:
        """Tell and keep when this was reached."""
        self.seconds[milestone] = round(time.monotonic() - self.started, 1)
        self.progress(f"{milestone}: {self.seconds[milestone]} s")


def converge(spec: RehearsalSpec, paths: ClusterPaths, tools: Tools, images: Path, journal: Journal) -> Node:
    """Adopt the running node or start one, then complete what the cluster lacks; `images` is the image store.

    Raises:
        ProblemsError: a step failed; what is there stays.
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
        journal.did("the node was started")
        cluster = _connect(node, _API_SECONDS, journal)
    state.save(paths.state)
    for path, target in _links(tools).items():
        _link(paths.home / path, target)
    journal.reached("API ready")
    _complete(cluster, node, state, patience, journal)
    return node


def _decide(spec: RehearsalSpec, paths: ClusterPaths, state: State | None) -> State:
    """The state to come: the former subnet while nothing else on the host uses it."""
    busy = network.busy_networks(paths.interface, paths.identity)
    if state and not any(other.overlaps(state.subnet) for other in busy):
        return replace(state, spec=spec)
    return State(spec, network.choose_subnet(paths.identity, busy))


def _node(paths: ClusterPaths, state: State, parts: Parts, differences: NodeDifferences) -> Node:
    facts = NodeFacts(
        name=NODE_NAME,
        cable=network.Cable(paths.interface, state.subnet, paths.identity),
        cgroup=paths.cgroup,
        may_lower_oom_score=look_at_host().may_lower_oom_score,
        differences=differences,
    )
    return Node(paths, facts, NodeCgroup(read_layout(), paths.cgroup), parts)


def _adopt(node: Node, state: State, journal: Journal) -> Cluster | None:
    """The running node's API server, when that node is what a start would make now."""
    if not node.first_process():
        return None
    if node.fingerprint() != state.fingerprint:
        journal.did("the running node's configuration is another one: it is started anew, what etcd holds stays")
        return None
    if not network.is_connected(node.facts.cable):
        journal.did("the running node has lost its cable: it is started anew")
        return None
    network.keep_in(node.facts.cable)
    if write_file(node.paths.kubeconfig, node.kubeconfig("admin"), 0o600):
        journal.did(f"{node.paths.kubeconfig} was written again")
    try:
        return _connect(node, _ADOPT_SECONDS, journal)
    except Unreachable:
        journal.did("the running node's API server does not become ready: the node is started anew")
        return None


def _connect(node: Node, seconds: float, journal: Journal) -> Cluster:
    """Wait until the API server says that it is ready; its certificate is verified, an open port is not enough."""
    deadline = time.monotonic() + seconds
    told = time.monotonic()
    while time.monotonic() < deadline:
        if not node.first_process():
            raise node.died("it ended before its API server was ready")
        if answers_ready(f"{node.facts.api_server}/readyz", str(node.paths.pki / "ca.crt")):
            return Cluster.connect(node.paths.kubeconfig)
        if time.monotonic() - told >= _TELL_SECONDS:
            told = time.monotonic()
            journal.progress("waiting for the API server")
        time.sleep(_RETRY_SECONDS)
    raise Unreachable(
        Problem(
            f"the API server at {node.facts.api_server} is not ready after {seconds:.0f} s.",
            "an API server that answers /readyz.",
            "read `python -m kubeflow_volcano.rehearsal logs kube-apiserver` and `logs etcd`; "
            "`up` starts the node anew, `down` and `up` begin with an empty cluster.",
        )
    )


def _complete(cluster: Cluster, node: Node, state: State, patience: float, journal: Journal) -> None:
    """Everything that follows a ready API server. `patience`: for pods that are admitted again, in seconds."""
    journal.did(*bootstrap.apply_addons(cluster, node.paths.pki / "ca.crt"))
    waits.wait_for(cluster, {_REAL: waits.exists("the real node")}, _READY_SECONDS, journal.progress)
    journal.did(*bootstrap.assign_pod_range(cluster, NODE_NAME), *simulated_nodes.sync(cluster, state.spec))
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
    """What a person or an inventory finds in the cluster's directory: programs, and upstream's own manifests."""
    programs = {f"bin/{name}": tools.programs[name] for name in _LINKED_PROGRAMS}
    modules = [module for tool in tools.generation.tools for module in tool.sources]
    return programs | {f"upstream/{PurePath(module).name}": tools.source(module) for module in modules}


def _link(path: Path, target: Path) -> None:
    """See that `path` is a link to `target`."""
    if path.is_symlink() and path.readlink() == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
