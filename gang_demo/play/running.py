"""Runs cases: the nodes that one needs are free, what it makes is removed, and trouble is told as its outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from gang_demo.case import Case
from gang_demo.jobs.jobs import GPU
from gang_demo.model import Outcome
from gang_demo.play.programs import pods_of_programs, versions
from gang_demo.play.stand import Stand
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.closing import SHARED
from kubeflow_volcano.experiment.remains import delete_all
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress

__all__ = ["gpus_free", "play", "run_all"]

_READY_SECONDS = 30.0
_EMPTY_SECONDS = 10.0
_TICK = 0.1
_ENDED = frozenset({"Succeeded", "Failed"})


def run_all(
    cluster: Cluster, cases: Iterable[Case], prepare: Callable[[Case], object], progress: Progress
) -> list[Outcome]:
    """Play cases one after the other, each in namespaces of its own, and remove everything.

    `prepare` gives the cluster the nodes of a case. A case of which it cannot be told how it came out is played once
    more. A namespace without pods takes 5 s to go, and is nobody's concern: the next case begins meanwhile. Queues and
    priority classes are, because they bear on others.

    Raises:
        ProblemsError: the cluster does not have the nodes that a case needs.
    """
    with ThreadPoolExecutor() as pool:
        ends: list[Future[Outcome]] = []
        for case in cases:
            prepare(case)
            session, outcome = _played(cluster, case, progress)
            if not outcome.judged and not session.close().left:
                progress(f"{case.title}: {outcome.verdict}; it is played once more")
                session, outcome = _played(cluster, case, progress)
            ends.append(pool.submit(_ended, session, outcome))
            if any((item.ref.api_version, item.ref.kind) in SHARED for item in session.tracked):
                wait(ends[-1:])
        return [item.result() for item in ends]


def _played(cluster: Cluster, case: Case, progress: Progress) -> tuple[Session, Outcome]:
    """Play one case until no pod of it is left; returns the session that is still to be closed."""
    _demand_nodes(cluster, case)
    session = Session(cluster, progress)
    try:
        session.sweep(SHARED)
        outcome = play(case.run, Stand(cluster, case, session, Deadline(case.seconds), progress))
        _empty(session)
    except BaseException:
        session.close()
        raise
    return session, outcome


def play(run: Callable[[Stand], Outcome], stand: Stand) -> Outcome:
    """How what `run` does on the stand comes out; what went on beside it may leave nothing to be concluded."""
    try:
        before = pods_of_programs(stand.cluster)
        outcome = replace(run(stand), versions=versions(stand.cluster))
        after = pods_of_programs(stand.cluster)
    except (ProbeRefused, ApiError, TimeoutError) as error:
        seen = stand.histories[-1] if stand.histories else None
        return replace(stand.outcome(seen, f"it broke off: {error}"), judged=False)
    restarted = ", ".join(name for name, pods in before.items() if pods != after[name])
    doubt = stand.doubt() or (f"pods of {restarted} were replaced or started anew meanwhile" if restarted else "")
    return replace(outcome, problem=doubt, judged=False) if doubt else outcome


def _ended(session: Session, outcome: Outcome) -> Outcome:
    """The outcome, with what could not be removed among its problems."""
    account = session.close()
    if not account.left:
        return outcome
    left = "; ".join(f"{item.ref} {item.why}" for item in account.left)
    return replace(outcome, problem=f"{outcome.problem} Left in the cluster: {left}".strip())


def _empty(session: Session) -> None:
    """Remove what is in the namespaces, and wait until no pod is left in them."""
    inside = [item for item in session.tracked if item.ref.namespace]
    delete_all(session.cluster, inside, Deadline(_EMPTY_SECONDS))
    subjects = [Subject("v1", "Pod", name) for name in {item.ref.namespace for item in inside}]
    there: dict[Subject, set[str]] = {}
    with contextlib.suppress(ApiError), Observer(session.cluster, subjects, Deadline(_EMPTY_SECONDS)) as observer:
        for change in observer.changes(_TICK):
            if change:
                uids = {item["metadata"]["uid"] for item in change.objects}
                known = there.get(change.subject, set()) if change.type != "RESET" else set()
                there[change.subject] = known - uids if change.type == "DELETED" else known | uids
            if len(there) == len(subjects) and not any(there.values()):
                return


def gpus_free(nodes: Sequence[Object], pods: Sequence[Object]) -> int:
    """GPUs that ready nodes offer and no pod has asked for."""
    offered = sum(int(node["status"].get("allocatable", {}).get(GPU, 0)) for node in nodes if _usable(node))
    taken = sum(
        int(container.get("resources", {}).get("requests", {}).get(GPU, 0))
        for pod in pods
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in _ENDED
        for container in pod["spec"]["containers"]
    )
    return offered - taken


def _usable(node: Object) -> bool:
    """Whether a scheduler may place pods there: a new node bears taints of its own until it has told of itself."""
    taints = {item["key"] for item in node.get("spec", {}).get("taints") or ()}
    ready = conditions(node).get("Ready", {}).get("status") == "True"
    return ready and not any(key.startswith("node.kubernetes.io/") for key in taints)


def _demand_nodes(cluster: Cluster, case: Case) -> None:
    wanted = case.nodes.count * case.nodes.gpus
    nodes: dict[str, Object] = {}
    free = -1
    with Observer(cluster, [Subject("v1", "Node")], Deadline(_READY_SECONDS)) as observer:
        for change in observer.changes():
            if change is None:
                continue
            if change.type == "RESET":
                nodes.clear()
            for node in change.objects:
                nodes.pop(node["metadata"]["name"], None)
                if change.type != "DELETED":
                    nodes[node["metadata"]["name"]] = node
            free = gpus_free(list(nodes.values()), cluster.list("v1", "Pod").items)
            if free == wanted:
                return
    raise ProblemsError(
        Problem(
            f"{free} free GPUs ({GPU}) in the cluster.",
            f"exactly {wanted} for the case '{case.name}' ({case.title}).",
            "end the pods of others that hold GPUs; `make gang-demo` gives the rehearsal cluster the nodes.",
        )
    )
