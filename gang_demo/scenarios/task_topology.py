"""Task topology: each parameter server on one node with its two workers, or all of them spread over the cluster.

Workers and parameter servers exchange gradients all the time; on one node they do so without the network. The job asks
by an annotation, which the operator copies to the PodGroup, and Volcano's plugin task-topology places it so. The
default scheduler puts every pod where there is most room.
"""

from __future__ import annotations

from collections.abc import Mapping

from gang_demo.case import Case
from gang_demo.jobs.gangs import Gang, not_loose
from gang_demo.jobs.jobs import job, replicas
from gang_demo.model import Nodes, Outcome, Title
from gang_demo.play.history import ROLE, History
from gang_demo.play.stand import Stand
from kubeflow_volcano.cluster.objects import Object

__all__ = ["AFFINITY", "ANTI_AFFINITY", "CASES", "apart", "layout", "manifest", "wrong"]

AFFINITY, ANTI_AFFINITY = "volcano.sh/task-topology-affinity", "volcano.sh/task-topology-anti-affinity"
"""Annotations of a PodGroup (plugin task-topology, util.go): roles that belong together, separated by commas, and
roles whose members keep away from each other."""

PS, WORKERS, NODES = 2, 4, 4
_JOB = "mnist"
_CPU = "4"
"""Of the 32 of a simulated node: enough for the default scheduler to see which node has most room."""

_HOLD_SECONDS = 2.0


def manifest(namespace: str) -> tuple[Object, ...]:
    """A job whose workers belong beside a parameter server, and whose parameter servers keep apart."""
    roles = {"PS": replicas(PS, gpus=0, cpu=_CPU), "Worker": replicas(WORKERS, cpu=_CPU)}
    return (job("TFJob", _JOB, namespace, roles, {AFFINITY: "ps,worker", ANTI_AFFINITY: "ps"}),)


def layout(history: History) -> Mapping[str, tuple[int, int]]:
    """How many parameter servers and workers there are on each node that has any."""
    found: dict[str, tuple[int, int]] = {}
    for member in history.present:
        if member.node:
            servers, workers = found.get(member.node, (0, 0))
            is_server = member.labels.get(ROLE) == "ps"
            found[member.node] = (servers + is_server, workers + (not is_server))
    return found


def apart(history: History) -> int:
    """Workers on whose node there is no parameter server."""
    return sum(workers for servers, workers in layout(history).values() if not servers)


def _placed(history: History) -> bool:
    return len(history.present) == PS + WORKERS == len(history.holders)


def _run(stand: Stand) -> Outcome:
    namespace = stand.namespace()
    with stand.watching(namespace) as history:
        stand.create(*manifest(namespace))
        problem = stand.settle(history, lambda: _placed(history), lambda: wrong(stand.case, history), _HOLD_SECONDS)
    figures = {"nodes used": len(layout(history)), "workers apart from every ps": apart(history)}
    return stand.outcome(history, problem, figures=figures)


def wrong(case: Title, history: History) -> str:
    """What contradicts the claim: who schedules, at any moment, and once everybody is placed, where."""
    size = PS + WORKERS
    if other := not_loose(history) if case.control else Gang.of_all(history, _JOB, size).contradicted(size):
        return other
    if not _placed(history):
        return ""
    found = layout(history)
    if case.control:
        return "" if len(found) == NODES and apart(history) else f"not spread over the {NODES} nodes: {dict(found)}"
    together = (1, WORKERS // PS)
    return "" if set(found.values()) == {together} else f"not one ps with {WORKERS // PS} workers: {dict(found)}"


CASES = (
    Case(
        "task-topology",
        "task-topology-default",
        "default scheduler",
        control=True,
        wiring="none",
        nodes=Nodes(NODES, 4),
        manifest=manifest,
        run=_run,
    ),
    Case(
        "task-topology",
        "task-topology-volcano",
        "Volcano, task-topology",
        control=False,
        wiring="volcano",
        nodes=Nodes(NODES, 4),
        manifest=manifest,
        run=_run,
    ),
)
