"""Small jobs first, then a gang that needs whole nodes: it starts only if the small jobs were packed on one node.

Four nodes have four GPUs each, and four small pods need one GPU each. The default scheduler places each of them on the
node with the most free resources (its score LeastAllocated), so that three GPUs are free on every node. A job of three
pods with four GPUs each then fits on no node, although twelve GPUs are free. Volcano's plugin binpack places all small
pods on one node, and the job starts on the other three.

The fragmentation measures this: the share of the free GPUs that are on nodes where no pod of the job fits. The metric
is that of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), for one kind of pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.jobs.gangs import Gang
from kubeflow_volcano.gang_demo.jobs.jobs import GPU, holder, job, replicas
from kubeflow_volcano.gang_demo.model import Nodes, Outcome
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import Case, Stand, no_contradiction

_NODES = Nodes(4, 4)
_SMALL = 4
_GANG = "whole-nodes"
_SIZE = 3
_HOLD_SECONDS = 3.0


def fragmentation(free: Iterable[int], asked: int) -> float:
    """Share (0 to 1) of the free GPUs that are on nodes where a pod that requests `asked` GPUs does not fit.

    `free` are the free GPUs of each node. It is 0 when no GPU is free.
    """
    amounts = list(free)
    total = sum(amounts)
    return sum(amount for amount in amounts if amount < asked) / total if total else 0.0


def manifest(namespace: str, *, packed: bool) -> Sequence[Object]:
    """Four pods of one GPU, and a PyTorchJob of three pods that need all four GPUs of a node."""
    scheduler = "volcano" if packed else "default-scheduler"
    small = [holder(f"small-{number}", namespace, 1, scheduler) for number in range(1, _SMALL + 1)]
    roles = {"Master": replicas(1, gpus=_NODES.gpus), "Worker": replicas(_SIZE - 1, gpus=_NODES.gpus)}
    return *small, job("PyTorchJob", _GANG, namespace, roles)


def _run(stand: Stand, *, packed: bool) -> Outcome:
    namespace = stand.namespace()
    *small, gang = manifest(namespace, packed=packed)
    with stand.watching(namespace) as history:
        stand.create(*small)
        problem = stand.settle(history, lambda: len(history.holders) == _SMALL, no_contradiction, 0)
        free = _free(stand, history)
        share = fragmentation(free, _NODES.gpus)
        if not problem and share != (0 if packed else 1):
            problem = f"the fragmentation is {share:.0%}: {_listed(free)} GPUs are free on the nodes"
        if not problem:
            stand.create(gang)
            made = Gang.of_all(history, _GANG, _SIZE)
            reached = made.is_whole if packed else made.is_withheld
            problem = stand.settle(history, reached, partial(made.find_contradiction, _SIZE * packed), _HOLD_SECONDS)
        figures = {
            "free GPUs per node before the gang": _listed(free),
            "nodes with all GPUs free": free.count(_NODES.gpus),
            "fragmentation": f"{share:.0%}",
            "gang members with a node": history.placed(_GANG),
        }
        # Volcano creates a PodGroup for each small pod, too.
        groups = [item for item in history.present_groups if item.name == _GANG]
        lines = [f"PodGroup {item.phase}, MINMEMBER {item.minimum}" for item in groups]
        return stand.outcome(history, problem, figures=figures, lines=lines)


def _free(stand: Stand, history: History) -> list[int]:
    """Free GPUs of each node with GPUs, sorted. Every pod here holds one."""
    nodes = stand.cluster.list("v1", "Node").items
    offered = {item["metadata"]["name"]: int(item["status"].get("allocatable", {}).get(GPU, 0)) for item in nodes}
    taken = [item.node for item in history.present]
    return sorted(gpus - taken.count(name) for name, gpus in offered.items() if gpus)


def _listed(free: Sequence[int]) -> str:
    return ", ".join(str(amount) for amount in free)


def _case(name: str, title: str, *, packed: bool) -> Case:
    return Case(
        scenario="binpack",
        name=name,
        title=title,
        control=not packed,
        wiring="volcano",
        nodes=_NODES,
        manifest=partial(manifest, packed=packed),
        run=partial(_run, packed=packed),
    )


CASES = (
    _case("binpack-spread", "small pods spread by the default scheduler", packed=False),
    _case("binpack-packed", "small pods packed by Volcano's binpack", packed=True),
)
