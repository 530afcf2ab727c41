"""Is there room for the gang: a node for each pod, then enough nodes for all of them at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from kubeflow_volcano.cluster.pods.quantities import Amounts, readable, total
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.creation.refusals import is_refused_in_dry_run
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.limits import keeps_apart, most_that_fit, waits_for_others
from kubeflow_volcano.validators.explain.placement.nodes import Node, Refusal, Wish, nodes_with_pods
from kubeflow_volcano.validators.explain.placement.pod_sets import PodSet, how_many_fit, is_excluded, pod_sets, role_of

__all__ = ["room"]

_MOST_NAMES = 3
_ZERO = Decimal(0)
_TODO = {
    "NotReady": "repair the nodes that are not Ready",
    "Cordoned": "uncordon a node (kubectl uncordon NODE)",
    "Taint": "tolerate the taint in the pod template, or remove it from a node",
    "Selector": "label a node to match nodeSelector, or change nodeSelector",
    "Affinity": "label a node to match nodeAffinity, or change nodeAffinity",
    "Volume": "free the node of the volume, or use a claim that more nodes can reach",
    "PodAffinity": "start the pods that podAffinity requires first, or change podAffinity",
    "PodAntiAffinity": "add a node, or change podAntiAffinity",
    "SpreadKey": "label the nodes for topologySpreadConstraints, or change their topologyKey",
    "Spread": "add a node, or change topologySpreadConstraints",
    "HostPort": "free the host port, or request another one",
    "Insufficient": "free the missing resource, wait until other pods end, or add a node",
    "Absent": "correct the name of the resource, add nodes that have it, or start the device plugin that offers it",
    "Never": "request less in the pod template than the largest node has, or add a larger node",
}


# A node that will accept the pod once other pods end is nearer than one that has to be changed, and that one is nearer
# than another machine.
_DISTANCE = {"Absent": 2, "Never": 1}
_REASONS = {
    (False, False): "GangDoesNotFit",
    (False, True): "GangNeverFits",
    (True, False): "PodsDoNotFit",
    (True, True): "PodsNeverFit",
}
"""By whether they start one by one, and whether they never find room on the nodes as they are."""
_OF_RESOURCES = frozenset({"Insufficient", "Never"})


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
        yield _not_together(sets, nodes, how_many_fit(sets, nodes, needed), situation)
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
            yield _not_together(rest, nodes, placed, situation)


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
    # The node with the fewest obstacles shows best what would have to change.
    nearest = min(_distance(items) for items in found.values())
    todos = {_TODO[_hardest(items).reason] for items in found.values() if _distance(items) == nearest}
    return finding(
        "NoNodeFits" if len(reasons) > 1 else f"NoNodeFits{next(iter(reasons))}",
        f"{', '.join(item.title for item in sets)}: none of {counted(len(found), 'node')} accepts such a pod: "
        f"{_summary(found)}.",
        needed=f"nodes for {counted(about.minimum, 'pod')} that start together.",
        todo=f"{'; or '.join(sorted(todos))}.",
        objects=[item.example for item in sets if item.example],
        details=[*_by_reasons(found), *_alternatives(sets[0], nodes)],
        blocks=blocks,
    )


def _distance(items: Sequence[Refusal]) -> tuple[int, int]:
    return max(_DISTANCE.get(item.reason, 0) for item in items), len(items)


def _hardest(items: Sequence[Refusal]) -> Refusal:
    """The refusal that takes the most to resolve."""
    return max(items, key=lambda item: _DISTANCE.get(item.reason, 0))


def _alternatives(pods: PodSet, nodes: Sequence[Node]) -> Iterator[str]:
    """Extended resources that nodes have, beside each requested one that no node has: it may be misspelt."""
    offered = {name for node in nodes for name, amount in node.allocatable.items() if amount and "/" in name}
    for name, amount in pods.wish.requests.items():
        if amount and all(not node.allocatable.get(name) for node in nodes):
            yield f"no node has any {name}; there are {', '.join(sorted(offered)) or 'no extended resources'}"


def _summary(found: Mapping[str, tuple[Refusal, ...]]) -> str:
    """Each obstacle with the number of nodes that have it, the most frequent first."""
    counts: dict[str, int] = {}
    for items in found.values():
        for text in {f"no room for {item.lacks}" if item.reason in _OF_RESOURCES else item.text for item in items}:
            counts[text] = counts.get(text, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{text} ({counted(number, 'node')})" for text, number in ordered)


def _by_reasons(found: Mapping[str, tuple[Refusal, ...]]) -> Iterator[str]:
    """One line for all nodes with the same reasons."""
    return _by_text((name, "; ".join(item.text for item in items)) for name, items in found.items())


def _by_text(nodes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line for all nodes with the same text, given as pairs of both."""
    by_text: dict[str, list[str]] = {}
    for name, text in nodes:
        by_text.setdefault(text, []).append(name)
    for text, names in by_text.items():
        shown = ", ".join(names[:_MOST_NAMES])
        yield f"{shown if len(names) <= _MOST_NAMES else f'{len(names)} nodes ({shown}, …)'}: {text}"


def _not_together(sets: Sequence[PodSet], nodes: Sequence[Node], placed: int, about: Situation) -> Finding:
    """There is a node for each pod, but too few for as many as must start together."""
    needed = about.unscheduled
    most = most_that_fit(sets, about)
    rules = keeps_apart(sets, nodes, needed)
    requests = total({name: amount * item.count for name, amount in item.wish.requests.items()} for item in sets)
    usable = [node for node in nodes if any(not is_excluded(item, node, nodes) for item in sets)]
    free = {name: sum((max(node.free(name), _ZERO) for node in usable), _ZERO) for name in requests}
    scale = Decimal(needed) / max(sum(item.count for item in sets), 1)
    short = {name: amount * scale for name, amount in requests.items() if amount * scale > free[name]}
    single = about.group is None and bool(about.pods)  # without a gang, nothing holds them back for each other
    which = "pods without a node" if single else "pods that must be placed together"
    together = f": minMember is {about.minimum}, {len(about.placed)} have a node"
    names = sorted(set(requests) - ({"pods"} - short.keys()))
    free_of_each = (
        (node.name, f"{', '.join(f'{readable(name, max(node.free(name), _ZERO))} {name}' for name in names)} free")
        for node in usable
    )
    never = most < needed
    when = f", and for {most} once all other pods have ended" if never else ""
    return finding(
        _REASONS[single, never],
        f"there is room for {placed} of the {needed} {which} at the same time{when}. {_why(rules, short, free)}, on "
        f"the {len(usable)} of {counted(len(nodes), 'node')} that accept such pods.",
        needed=f"room for {counted(needed, 'pod')} at the same time{'' if single else together}.",
        todo=_todo(about, rules, never=never),
        objects=[ref] if (ref := about.group_ref) else [about.job.ref],
        details=[*(f"{item.title}: {_listed(item.wish.requests)} each" for item in sets), *_by_text(free_of_each)],
    )


def _why(rules: Sequence[str], short: Amounts, free: Amounts) -> str:
    if rules:
        return f"Their requests would fit, but {', '.join(rules)} keeps them apart"
    numbers = ", ".join(f"{readable(name, short[name])} {name}, {readable(name, free[name])} free" for name in short)
    return f"They request {numbers}" if short else "Enough is free in total, but it is spread over too many nodes"


def _todo(about: Situation, rules: Sequence[str], *, never: bool) -> str:
    wait = "" if never else "wait until other pods end, "
    if rules:
        return f"{wait}add nodes, change {' and '.join(rules)}, or recreate the job with fewer replicas."
    return f"{wait}add nodes, or make the job request less: {_ways_to_request_less(about)}."


def _ways_to_request_less(about: Situation) -> str:
    if about.job.ref.group == "trainer.kubeflow.org":
        return "recreate it with fewer nodes (trainer.numNodes) or less for each (trainer.resourcesPerNode)"
    return "fewer replicas, smaller requests, or a lower minAvailable"


def _listed(requests: Amounts) -> str:
    named = (f"{readable(name, amount)} {name}" for name, amount in sorted(requests.items()) if name != "pods")
    return ", ".join(named) or "nothing"
