"""Task topology: each parameter server on one node with two workers, or all of them spread over the cluster.

Workers and parameter servers exchange gradients all the time; on one node they do so without the network. The job
requests it by an annotation, which the operator copies to the PodGroup, and Volcano's plugin task-topology places the
pods accordingly. The default scheduler places every pod on the node with the most free resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.gangs import Gang, find_gang
from kubeflow_volcano.gang_demo.jobs.jobs import job, replicas
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import ROLE, History
from kubeflow_volcano.gang_demo.play.stand import Case, Stand

AFFINITY, ANTI_AFFINITY = "volcano.sh/task-topology-affinity", "volcano.sh/task-topology-anti-affinity"
"""Annotations of a PodGroup (plugin task-topology, util.go): roles for the same node, separated by commas, and roles
whose members must be on different nodes."""

PS, WORKERS, NODES = 2, 4, 4
_JOB = "mnist"
_CPU = "4"
"""Of the 32 of a simulated node: enough to make a difference in the scores of the default scheduler."""

_HOLD_SECONDS = 2.0


def manifest(namespace: str) -> tuple[Object, ...]:
    """A job whose workers belong on the node of a parameter server, and whose parameter servers on different nodes."""
    roles = {"PS": replicas(PS, gpus=0, cpu=_CPU), "Worker": replicas(WORKERS, cpu=_CPU)}
    return (job("TFJob", _JOB, namespace, roles, {AFFINITY: "ps,worker", ANTI_AFFINITY: "ps"}),)


def layout(history: History) -> Mapping[str, tuple[int, int]]:
    """Numbers of parameter servers and workers on each node that has any."""
    counts: dict[str, tuple[int, int]] = {}
    for member in history.present:
        if member.node:
            servers, workers = counts.get(member.node, (0, 0))
            is_server = member.labels.get(ROLE) == "ps"
            counts[member.node] = (servers + is_server, workers + (not is_server))
    return counts


def count_apart(history: History) -> int:
    """Number of workers on nodes without a parameter server."""
    return sum(workers for servers, workers in layout(history).values() if not servers)


def _placed(history: History) -> bool:
    return len(history.present) == PS + WORKERS == len(history.holders)


def _run(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        stand.create(*manifest(namespace))
        problem = stand.settle(
            history, lambda: _placed(history), lambda: find_contradiction(stand.case, history), _HOLD_SECONDS
        )
    figures = {"nodes used": len(layout(history)), "workers on nodes without a ps": count_apart(history)}
    return stand.outcome(history, problem, figures=figures)


def find_contradiction(case: Case, history: History) -> str:
    """What contradicts the claim: the scheduler, at any moment, and once all pods are placed, their nodes."""
    size = PS + WORKERS
    if other := find_gang(history) if case.control else Gang.of_all(history, _JOB, size).find_contradiction(size):
        return other
    if not _placed(history):
        return ""
    counts = layout(history)
    if case.control:
        return (
            ""
            if len(counts) == NODES and count_apart(history)
            else f"not spread over the {NODES} nodes: {dict(counts)}"
        )
    together = (1, WORKERS // PS)
    return "" if set(counts.values()) == {together} else f"not one ps with {WORKERS // PS} workers: {dict(counts)}"


_case = partial(Case, "task-topology", nodes=Nodes(NODES, 4), manifest=manifest, run=_run)

CASES = (
    _case("task-topology-default", "default scheduler", control=True, wiring="none"),
    _case("task-topology-volcano", "Volcano, task-topology", control=False, wiring="volcano"),
)
