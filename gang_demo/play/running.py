"""Play cases: check that their nodes are free, remove what they create, and return errors as outcomes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO, GangScheduler
from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.operator import DEPLOYMENT, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, has_ended
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.closing import SHARED
from kubeflow_volcano.experiment.remains import delete_all
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.gang_demo.jobs.jobs import GPU
from kubeflow_volcano.gang_demo.model import Outcome
from kubeflow_volcano.gang_demo.play.limits import LIMITS
from kubeflow_volcano.gang_demo.play.stand import Case, Stand
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted

_READY_SECONDS = 30.0
_EMPTY_SECONDS = 10.0
_TICK = 0.1
_PROGRAMS: Mapping[str, tuple[Ref, ...]] = {
    "Volcano": tuple(
        Ref("apps/v1", "Deployment", "volcano-system", name) for name in ("volcano-scheduler", "volcano-controllers")
    ),
    SCHEDULER_PLUGINS.title: tuple(
        Ref("apps/v1", "Deployment", "scheduler-plugins", f"scheduler-plugins-{name}")
        for name in ("scheduler", "controller")
    ),
    "training operator": (DEPLOYMENT,),
}
"""Deployments of each program; its version is that of the first."""


def play_all(
    cluster: Cluster,
    cases: Iterable[Case],
    prepare: Callable[[Case], object],
    progress: Progress,
    gang: GangScheduler = VOLCANO,
) -> list[Outcome]:
    """Play cases one after the other, each in namespaces of its own, and remove everything.

    `gang` is the scheduler of their gangs. `prepare` gives the cluster the nodes of a case. An inconclusive case is
    played once more. The next case begins while the empty namespaces of the last one are deleted, which takes 5 s, but
    not before its queues and priority classes are deleted, as they affect other cases.

    Raises:
        ProblemsError: the cluster lacks the nodes of a case, or would not delete its namespaces.
    """
    with ThreadPoolExecutor() as pool:
        ends: list[Future[Outcome]] = []
        for case in cases:
            prepare(case)
            session, outcome = _played(cluster, case, progress, gang)
            if not outcome.judged and not session.close().left:
                progress(f"{case.title}: {outcome.verdict}; playing it once more")
                session, outcome = _played(cluster, case, progress, gang)
            ends.append(pool.submit(_ended, session, outcome))
            if any((item.ref.api_version, item.ref.kind) in SHARED for item in session.tracked):
                wait(ends[-1:])
        return [item.result() for item in ends]


def _played(cluster: Cluster, case: Case, progress: Progress, gang: GangScheduler) -> tuple[Session, Outcome]:
    """Play one case until none of its pods is left; returns the session, which is still open."""
    _require_nodes(cluster, case)
    session = Session(cluster, progress)
    _require_that_namespaces_go(session)
    try:
        session.sweep(SHARED)
        outcome = play(case.run, Stand(cluster, case, session, Deadline(case.seconds), progress, gang=gang))
        _empty(session)
    except BaseException:
        session.close()
        raise
    return session, replace(outcome, limit=LIMITS.get((gang.name, case.name), ""))


def play(run: Callable[[Stand], Outcome], stand: Stand) -> Outcome:
    """The outcome of `run` on the stand; inconclusive if events outside of the case may have affected it."""
    try:
        before = pods_of_programs(stand.cluster)
        outcome = replace(run(stand), versions=versions(stand.cluster))
        after = pods_of_programs(stand.cluster)
    except (ProbeRefused, ApiError, TimeoutError) as error:
        seen = stand.histories[-1] if stand.histories else None
        return replace(stand.outcome(seen, f"it broke off: {error}"), judged=False)
    restarted = ", ".join(name for name, pods in before.items() if pods != after[name])
    doubt = stand.find_doubt() or (f"pods of {restarted} were replaced or restarted meanwhile" if restarted else "")
    return replace(outcome, problem=doubt, judged=False) if doubt else outcome


def versions(cluster: Cluster) -> dict[str, str]:
    """Versions of Kubernetes and of the installed programs, by name."""
    versions = {"Kubernetes": cluster.version["gitVersion"].removeprefix("v")}
    for name, refs in _PROGRAMS.items():
        if live := cluster.get(refs[0]):
            image = live["spec"]["template"]["spec"]["containers"][0]["image"]
            versions[name] = version_of_image(image) or version_tag(image)
    return versions


def pods_of_programs(cluster: Cluster) -> dict[str, frozenset[tuple[str, ...]]]:
    """Running pods by program: UID and start times of containers. Two results are equal if none restarted meanwhile."""
    return {
        name: frozenset(_started(pod) for ref in refs for pod in _running(cluster, ref))
        for name, refs in _PROGRAMS.items()
    }


def _running(cluster: Cluster, ref: Ref) -> Iterator[Object]:
    live = cluster.get(ref)
    wanted = live["spec"]["selector"]["matchLabels"] if live else {}
    labels = ",".join(f"{key}={value}" for key, value in wanted.items())
    for pod in cluster.list("v1", "Pod", namespace=ref.namespace, labels=labels).items if wanted else ():
        if pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            yield pod


def _started(pod: Object) -> tuple[str, ...]:
    states = (item.get("state", {}) for item in pod["status"].get("containerStatuses") or ())
    return (pod["metadata"]["uid"], *(state.get("running", {}).get("startedAt", "") for state in states))


def _ended(session: Session, outcome: Outcome) -> Outcome:
    """The outcome; its problem names what could not be removed."""
    account = session.close()
    if not account.left:
        return outcome
    left = "; ".join(f"{item.ref} {item.why}" for item in account.left)
    return replace(outcome, problem=f"{outcome.problem} Left in the cluster: {left}".strip())


def _empty(session: Session) -> None:
    """Delete the objects in the namespaces, and wait until no pod is left in them."""
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


def count_free_gpus(nodes: Sequence[Object], pods: Sequence[Object]) -> int:
    """Number of GPUs of ready nodes that no pod has requested."""
    offered = sum(int(node["status"].get("allocatable", {}).get(GPU, 0)) for node in nodes if _usable(node))
    taken = sum(
        int(container.get("resources", {}).get("requests", {}).get(GPU, 0))
        for pod in pods
        if pod["spec"].get("nodeName") and not has_ended(pod)
        for container in pod["spec"]["containers"]
    )
    return offered - taken


def _usable(node: Object) -> bool:
    """Whether a scheduler may place pods there: a new node has taints until its first status."""
    taints = {item["key"] for item in node.get("spec", {}).get("taints") or ()}
    ready = conditions(node).get("Ready", {}).get("status") == "True"
    return ready and not any(key.startswith("node.kubernetes.io/") for key in taints)


def _require_that_namespaces_go(session: Session) -> None:
    if held := session.obstacles():
        raise ProblemsError(
            Problem(f"{item.found}.", "a cluster that deletes the namespaces of the cases again.", item.todo)
            for item in held
        )


def _require_nodes(cluster: Cluster, case: Case) -> None:
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
            free = count_free_gpus(list(nodes.values()), cluster.list("v1", "Pod").items)
            if free == wanted:
                return
    raise ProblemsError.problem(
        f"the cluster has {counted(free, 'free GPU')} ({GPU}).",
        f"exactly {wanted} for the case '{case.name}' ({case.title}).",
        "delete other pods that hold GPUs; `make gang-demo` creates the nodes of the rehearsal cluster.",
    )
