"""Is there room for the gang: a node for each pod, then enough nodes for all of them at the same time.

Rules: those of filters.py, and ssn.JobReady of Volcano for how many pods must have a node, v1.8.0 to v1.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.creation.refusals import is_refused_in_dry_run
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.devices import devices
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.limits import most_that_fit, waits_for_others
from kubeflow_volcano.validators.explain.placement.nodes import Node, Refusal, Wish, nodes_with_pods
from kubeflow_volcano.validators.explain.placement.obstacles import by_reasons, remedies, summary
from kubeflow_volcano.validators.explain.placement.pod_sets import PodSet, how_many_fit, pod_sets, role_of
from kubeflow_volcano.validators.explain.placement.together import not_together


def room(situation: Situation) -> Iterator[Finding]:
    """Pods that no node accepts; and where each has a node, too little room for the gang's minimum."""
    sets, needed = pod_sets(situation), situation.unscheduled
    if not sets or needed <= 0 or is_refused_in_dry_run(situation):
        return
    nodes = nodes_with_pods(situation.facts)
    if not nodes:
        yield finding("NoNodes", "the cluster has no node.", needed="nodes for the pods.", todo="add nodes.")
        return
    answers = [(item, _refusing(item.wish, nodes)) for item in sets]
    homeless = [(item, found) for item, found in answers if len(found) == len(nodes)]
    # A job whose minimum leaves some pods out starts without them.
    rest = [item for item, found in answers if len(found) < len(nodes)]
    enough = sum(item.count for item in rest) >= needed
    if not enough and _waits_in_vain(sets, [item for item, _ in homeless], situation):
        yield not_together(sets, nodes, how_many_fit(sets, nodes, needed), situation)
        return
    alike: dict[tuple[str, bool], list[PodSet]] = {}
    for item, found in homeless:
        blocks = not enough or _is_required(item, situation)
        alike.setdefault((repr(found), blocks), []).append(item)
    for (_, blocks), items in alike.items():
        found = next(found for item, found in homeless if item is items[0])
        yield _no_node(items, found, nodes, situation, blocks=blocks)
    if enough:
        placed = how_many_fit(rest, nodes, needed)
        if placed < needed:
            yield not_together(rest, nodes, placed, situation)
        elif not homeless:
            yield from devices(situation)


def _waits_in_vain(sets: Sequence[PodSet], homeless: Sequence[PodSet], about: Situation) -> bool:
    """Whether each of these pods only waits for others to end, but all of them together never find room."""
    complete = sum(item.count for item in sets) >= about.unscheduled
    alone = complete and all(waits_for_others(item, about) for item in homeless)
    return alone and most_that_fit(sets, about) < about.unscheduled


def _is_required(pods: PodSet, situation: Situation) -> bool:
    """Whether the gang needs more pods of this role than have a node."""
    role = pods.role.lower()
    placed = sum(role_of(pod).lower() == role for pod in situation.placed)
    least = {name.lower(): count for name, count in situation.task_minimums.items()}
    return placed < least.get(role, 0)


def _refusing(wish: Wish, nodes: Sequence[Node]) -> dict[str, tuple[Refusal, ...]]:
    """The nodes that refuse such a pod, each with its reasons."""
    answers = ((node.name, refusals(wish, node, nodes)) for node in nodes)
    return {name: found for name, found in answers if found}


def _no_node(
    sets: Sequence[PodSet],
    found: Mapping[str, tuple[Refusal, ...]],
    nodes: Sequence[Node],
    about: Situation,
    *,
    blocks: bool,
) -> Finding:
    """Pods that no node accepts, all for the same reasons."""
    reasons = {item.reason for items in found.values() for item in items}
    return finding(
        "NoNodeFits" if len(reasons) > 1 else f"NoNodeFits{next(iter(reasons))}",
        f"{', '.join(item.title for item in sets)}: none of {counted(len(found), 'node')} accepts such a pod: "
        f"{summary(found)}.",
        needed=f"nodes for {counted(about.minimum, 'pod')} that start together.",
        todo=f"{'; or '.join(remedies(found))}.",
        objects=[item.example for item in sets if item.example],
        details=[*by_reasons(found), *_alternatives(sets[0], nodes)],
        blocks=blocks,
    )


def _alternatives(pods: PodSet, nodes: Sequence[Node]) -> Iterator[str]:
    """Extended resources that nodes have, beside each requested one that no node has: it may be misspelt."""
    offered = {name for node in nodes for name, amount in node.allocatable.items() if amount and "/" in name}
    for name, amount in pods.wish.requests.items():
        if amount and all(not node.allocatable.get(name) for node in nodes):
            yield f"no node has any {name}; there are {', '.join(sorted(offered)) or 'no extended resources'}"
