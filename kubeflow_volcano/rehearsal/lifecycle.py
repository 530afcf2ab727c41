"""`up`, `down`: from whatever is there to a whole cluster, or to nothing."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.watching import Subject
from kubeflow_volcano.problems import Problem, ProblemsError, Unreachable
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal import bootstrap, network
from kubeflow_volcano.rehearsal.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.files import write_file
from kubeflow_volcano.rehearsal.generation import load_generation
from kubeflow_volcano.rehearsal.host import look_at_host, look_closely
from kubeflow_volcano.rehearsal.images import ensure_images
from kubeflow_volcano.rehearsal.lock import held
from kubeflow_volcano.rehearsal.mounts import mounts_below
from kubeflow_volcano.rehearsal.node import Node, Parts, end_processes, first_process
from kubeflow_volcano.rehearsal.nodefiles import NODE_NAME, NodeFacts
from kubeflow_volcano.rehearsal.preflight import check_basics, check_earlier, check_host
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from kubeflow_volcano.rehearsal.state import State
from kubeflow_volcano.rehearsal.supervisor import answers_ready
from kubeflow_volcano.rehearsal.tools import Tools, ensure_tools

__all__ = ["DownResult", "UpResult", "down", "leftovers", "up"]

_LOCK_SECONDS = 60.0
_API_SECONDS = 60.0
_ADOPT_SECONDS = 15.0
_READY_SECONDS = 180.0
_RETRY_SECONDS = 0.1
_TELL_SECONDS = 2.0
_CGROUP_SECONDS = 20.0
_ACCOUNT = Subject("v1", "ServiceAccount", namespace="default", fields="metadata.name=default")
_LINKED_PROGRAMS = ("ctr", "kubectl", "kustomize")
_UPSTREAM = {
    "local-path-provisioner": "github.com/rancher/local-path-provisioner",
    "training-operator": "github.com/kubeflow/training-operator",
    "volcano": "volcano.sh/volcano",
}


@dataclass(frozen=True, slots=True)
class UpResult:
    """A running cluster. `changes` says what was done to make it so; `seconds` when what was ready, from the start."""

    kubeconfig: Path
    api_server: str
    changes: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def changed(self) -> bool:
        """Whether anything had to be done."""
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class DownResult:
    """`changed`: there was something to remove. `left`: what could not be removed."""

    changed: bool
    left: tuple[str, ...]


@dataclass(slots=True)
class _Log:
    """What was done so far, told as it happens, and how long things took."""

    progress: Progress
    started: float = field(default_factory=time.monotonic)
    changes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def did(self, *changes: str) -> None:
        for change in changes:
            self.progress(change)
        self.changes += changes

    def reached(self, milestone: str) -> None:
        self.seconds[milestone] = round(time.monotonic() - self.started, 1)
        self.progress(f"{milestone}: {self.seconds[milestone]} s")


def up(spec: RehearsalSpec, progress: Progress = silent) -> UpResult:
    """Bring the cluster up, or what runs of it to what `spec` asks for; nothing is done to one that is as it should be.

    Raises:
        InvalidInput: the specification or the host can't be used; nothing was changed.
        Busy: another process is changing this cluster.
        ProblemsError: a step failed; what is there stays, and the next `up` goes on from it.
    """
    spec.check()
    check_basics(look_at_host())
    paths = ClusterPaths.of(spec.name)
    log = _Log(progress)
    if first_process(NodeCgroup(read_layout(), paths.cgroup)):
        check_earlier(look_at_host(), spec, State.load(paths.state))
    else:
        check_host(look_closely(paths), spec, State.load(paths.state), paths.identity)
    tools = ensure_tools(load_generation(spec.generation), progress=progress)
    store = ensure_images(tools, progress=progress)
    with held(paths.lock, progress, _LOCK_SECONDS):
        return _converge(spec, paths, tools, Parts(tools.programs, store.home), log)


def _converge(spec: RehearsalSpec, paths: ClusterPaths, tools: Tools, parts: Parts, log: _Log) -> UpResult:
    state = _decide(spec, paths, State.load(paths.state))
    node = _node(paths, state, parts)
    cluster = _adopt(node, state, log)
    if cluster is None:
        shutil.rmtree(paths.removed, ignore_errors=True)
        state = replace(state, fingerprint=node.fingerprint(), started=time.time())
        state.save(paths.state)
        node.start()
        log.did("the node was started")
        cluster = _connect(node, _API_SECONDS, log)
    state.save(paths.state)
    for path, target in _links(tools).items():
        _link(paths.home / path, target)
    log.reached("API ready")
    _complete(cluster, node, state, log)
    return UpResult(paths.kubeconfig, node.facts.api_server, tuple(log.changes), log.seconds)


def _decide(spec: RehearsalSpec, paths: ClusterPaths, state: State | None) -> State:
    """The state to come: the former subnet while nothing else on the host uses it."""
    busy = network.busy_networks(paths.interface, paths.identity)
    if state and not any(other.overlaps(state.subnet) for other in busy):
        return replace(state, spec=spec)
    return State(spec, network.choose_subnet(paths.identity, busy))


def _node(paths: ClusterPaths, state: State, parts: Parts) -> Node:
    facts = NodeFacts(
        name=NODE_NAME,
        cable=network.Cable(paths.interface, state.subnet, paths.identity),
        cgroup=paths.cgroup,
        may_lower_oom_score=look_at_host().may_lower_oom_score,
    )
    return Node(paths, facts, NodeCgroup(read_layout(), paths.cgroup), parts, state.spec.simulated_images)


def _adopt(node: Node, state: State, log: _Log) -> Cluster | None:
    """The running node's API server, when that node is what a start would make now."""
    if not node.first_process():
        return None
    if node.fingerprint() != state.fingerprint:
        log.did("the running node's configuration is another one: it is started anew, what etcd holds stays")
        return None
    if not network.is_connected(node.facts.cable):
        log.did("the running node has lost its cable: it is started anew")
        return None
    network.keep_in(node.facts.cable)
    if write_file(node.paths.kubeconfig, node.kubeconfig("admin"), 0o600):
        log.did(f"{node.paths.kubeconfig} was written again")
    try:
        return _connect(node, _ADOPT_SECONDS, log)
    except Unreachable:
        log.did("the running node's API server does not become ready: the node is started anew")
        return None


def _connect(node: Node, seconds: float, log: _Log) -> Cluster:
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
            log.progress("waiting for the API server")
        time.sleep(_RETRY_SECONDS)
    raise Unreachable(
        Problem(
            f"the API server at {node.facts.api_server} is not ready after {seconds:.0f} s.",
            "an API server that answers /readyz.",
            "read `python -m kubeflow_volcano.rehearsal logs kube-apiserver` and `logs etcd`; "
            "`up` starts the node anew, `down` and `up` begin with an empty cluster.",
        )
    )


def _complete(cluster: Cluster, node: Node, state: State, log: _Log) -> None:
    """Everything that follows a ready API server. What etcd remembers from before the node's start does not count."""
    log.did(*bootstrap.apply_addons(cluster, node.paths.pki / "ca.crt"))
    real = Subject("v1", "Node", fields=f"metadata.name={node.facts.name}")
    dns = Subject("v1", "Pod", namespace="kube-system", labels="k8s-app=kube-dns")
    bootstrap.wait_for(cluster, {real: bootstrap.exists("the real node")}, _READY_SECONDS, log.progress)
    log.did(*bootstrap.assign_pod_range(cluster, node.facts.name), *bootstrap.sync_gpu_nodes(cluster, state.spec))
    simulated = Subject("v1", "Node", labels=bootstrap.SELECTOR)
    names = [f"gpu-{number}" for number in range(1, state.spec.gpu_nodes + 1)]
    wanted = {
        _ACCOUNT: bootstrap.exists("the service account default"),  # without it pods are forbidden
        real: bootstrap.nodes_ready([node.facts.name], state.started),
        dns: bootstrap.pods_ready("the cluster DNS", state.started),
        simulated: bootstrap.nodes_ready(names, 0),
    }
    began = time.monotonic() - log.started
    took = bootstrap.wait_for(cluster, wanted, _READY_SECONDS, log.progress)
    for subject, title in (
        (real, "node Ready"),
        (dns, "DNS Ready"),
        (simulated, "GPU nodes Ready"),
        (_ACCOUNT, "default service account"),
    ):
        log.seconds[title] = round(began + took[subject], 1)
    bootstrap.wait_for_placement(cluster, _READY_SECONDS)
    log.reached("everything ready")
    log.progress(", ".join(f"{title} {seconds} s" for title, seconds in log.seconds.items()))


def _link(path: Path, target: Path) -> None:
    """See that `path` is a link to `target`."""
    if path.is_symlink() and path.readlink() == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _links(tools: Tools) -> dict[str, Path]:
    """What a person or an inventory finds in the cluster's directory: programs, and upstream's own manifests."""
    programs = {f"bin/{name}": tools.programs[name] for name in _LINKED_PROGRAMS}
    return programs | {f"upstream/{name}": tools.source(module) for name, module in _UPSTREAM.items()}


def down(name: str, progress: Progress = silent) -> DownResult:
    """Remove the cluster called `name`: processes, mounts, control groups, cable, route, directory; then look again.

    Raises:
        Busy: another process is changing this cluster.
    """
    RehearsalSpec(name=name).check()
    check_basics(look_at_host())
    paths = ClusterPaths.of(name)
    with held(paths.lock, progress, _LOCK_SECONDS):
        cgroup = NodeCgroup(read_layout(), paths.cgroup)
        before = leftovers(paths, cgroup)
        if not before:
            return DownResult(changed=False, left=())
        progress(f"removing the rehearsal cluster {name}")
        with suppress(ProblemsError):  # what does not end is found again below
            end_processes(cgroup)
        network.remove(paths.interface, paths.identity)
        cgroup.remove(_CGROUP_SECONDS)
        if not mounts_below(paths.home):  # a directory with mounts in it is not ours alone to delete
            remove_directory(paths)
        left = leftovers(paths, cgroup)
    progress("nothing is left" if not left else f"left: {', '.join(left)}")
    return DownResult(changed=True, left=left)


def remove_directory(paths: ClusterPaths) -> None:
    """Remove the cluster's directory; when this is interrupted, no later `up` finds half of it."""
    shutil.rmtree(paths.removed, ignore_errors=True)
    with suppress(FileNotFoundError):
        paths.home.rename(paths.removed)
    shutil.rmtree(paths.removed, ignore_errors=True)


def leftovers(paths: ClusterPaths, cgroup: NodeCgroup) -> tuple[str, ...]:
    """Everything on this host that belongs to the cluster, as a person would name it."""
    return (
        *(f"process {pid}" for pid in sorted(cgroup.processes())),
        *(f"control group {directory}" for directory in cgroup.removable if directory.exists()),
        *network.traces(paths.interface, paths.identity),
        *(f"mount {point}" for point in mounts_below(paths.home)),
        *(f"directory {directory}" for directory in (paths.home, paths.removed) if directory.exists()),
    )
