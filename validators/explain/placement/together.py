"""Too little room for as many pods as must start together, although there is a node for each of them.

Rules: those of filters.py and limits.py; JobReady of Volcano needs minMember of them, v1.8.0 to v1.15.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.quantities import Amounts, readable, total
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.limits import keeps_apart, keeps_together, most_that_fit
from kubeflow_volcano.validators.explain.placement.nodes import Node, Refusal
from kubeflow_volcano.validators.explain.placement.obstacles import Refusals, by_reasons, by_text, remedies
from kubeflow_volcano.validators.explain.placement.pod_sets import PodSet, is_excluded

_ZERO = Decimal(0)
_REASONS = {
    (False, False): "GangDoesNotFit",
    (False, True): "GangNeverFits",
    (True, False): "PodsDoNotFit",
    (True, True): "PodsNeverFit",
}
"""By whether they start one by one, and whether they never find room on the nodes as they are."""


def not_together(sets: Sequence[PodSet], nodes: Sequence[Node], placed: int, about: Situation) -> Finding:
    """There is a node for each pod, but too few for as many as must start together."""
    needed = about.unscheduled
    most = most_that_fit(sets, about)
    rules, claims = keeps_apart(sets, nodes, needed), keeps_together(sets, nodes, needed)
    requests = total({name: amount * item.count for name, amount in item.wish.requests.items()} for item in sets)
    usable = [node for node in nodes if any(not is_excluded(item, node, nodes) for item in sets)]
    free = {name: sum((max(node.free(name), _ZERO) for node in usable), _ZERO) for name in requests}
    scale = Decimal(needed) / max(sum(item.count for item in sets), 1)
    short = {name: amount * scale for name, amount in requests.items() if amount * scale > free[name]}
    single = about.is_loose and bool(about.pods)  # without a gang, nothing holds them back for each other
    which = "pods without a node" if single else "pods that must be placed together"
    together = f": {about.gang.minimum[-1]} is {about.minimum}, {len(about.placed)} have a node"
    names = sorted(set(requests) - ({"pods"} - short.keys()))
    free_of_each = (
        (node.name, f"{', '.join(f'{_left(name, node.free(name))} {name}' for name in names)} free") for node in usable
    )
    closed = _closing([node for node in nodes if node not in usable], sets[0], nodes)
    never = most < needed
    why = _why(rules, claims, short, free)
    when = f", and for {most} once all other pods have ended" if never else ""
    return finding(
        _REASONS[single, never],
        f"there is room for {placed} of the {needed} {which} at the same time{when}. {why}, on "
        f"the {len(usable)} of {counted(len(nodes), 'node')} that accept such pods.",
        needed=f"room for {counted(needed, 'pod')} at the same time{'' if single else together}.",
        todo=_todo(about, rules, claims, _openable(closed, sets, nodes, about) if never else {}, never=never),
        objects=[ref] if (ref := about.group_ref) else [about.job.ref],
        details=[
            *(f"{item.title}: {_listed(item.wish.requests)} each" for item in sets),
            *by_text(free_of_each),
            *by_reasons(closed),
        ],
    )


def _why(rules: Sequence[str], claims: Sequence[str], short: Amounts, free: Amounts) -> str:
    if claims:
        return f"Their requests would fit, but the unbound claim {few(claims)} keeps them on one node"
    if rules:
        return f"Their requests would fit, but {', '.join(rules)} keeps them apart"
    numbers = ", ".join(f"{readable(name, short[name])} {name}, {_left(name, free[name])} free" for name in short)
    return f"They request {numbers}" if short else "Enough is free in total, but it is spread over too many nodes"


def _left(name: str, amount: Decimal) -> str:
    return readable(name, max(amount, _ZERO), at_most=True)


def _closing(nodes: Sequence[Node], pods: PodSet, every: Sequence[Node]) -> dict[str, Sequence[Refusal]]:
    """Why these nodes take no such pod, however much they have free."""
    found = ((node.name, refusals(pods.wish, node, every)) for node in nodes)
    return {name: [item for item in items if item.reason != "Insufficient"] for name, items in found}


def _openable(closed: Refusals, sets: Sequence[PodSet], nodes: Sequence[Node], about: Situation) -> Refusals:
    """Of the closed nodes those that another pod template opens, if the whole gang fits with them."""
    free = [replace(item, wish=replace(item.wish, pod=_anywhere(item.wish.pod))) for item in sets]
    if most_that_fit(free, about) < about.unscheduled:
        return {}
    opened = {node.name for node in nodes if any(not is_excluded(item, node, nodes) for item in free)}
    return {name: items for name, items in closed.items() if name in opened}


def _anywhere(pod: Object) -> Object:
    """The pod without what it says about nodes, but for its resources."""
    affinity = {key: item for key, item in (pod["spec"].get("affinity") or {}).items() if key != "nodeAffinity"}
    everything = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {}, "affinity": affinity}
    return {**pod, "spec": {**pod["spec"], **everything}}


def _todo(about: Situation, rules: Sequence[str], claims: Sequence[str], closed: Refusals, *, never: bool) -> str:
    """What to do; `closed` are nodes that the gang would fit on."""
    wait = "" if never else "wait until other pods end, "
    first = remedies(closed)
    if claims:
        first += [] if never else ["wait until other pods end"]
        last = "use a claim that is bound to a volume which all nodes reach, or make the gang fit on one node."
    elif rules:
        last = f"{wait}add nodes, change {' and '.join(rules)}, or recreate the job with fewer replicas."
    else:
        last = f"{wait}add nodes, or make the job request less: {_ways_to_request_less(about)}."
    return "; or ".join([*first, last])


def _ways_to_request_less(about: Situation) -> str:
    if about.job.family == "trainer.kubeflow.org":
        return "recreate it with fewer nodes (trainer.numNodes) or less for each (trainer.resourcesPerNode)"
    least = "minAvailable" if about.gang.has_makers else about.gang.minimum[-1]
    return f"fewer replicas, smaller requests, or a lower {least}"


def _listed(requests: Amounts) -> str:
    named = (f"{readable(name, amount)} {name}" for name, amount in sorted(requests.items()) if name != "pods")
    return ", ".join(named) or "nothing"
