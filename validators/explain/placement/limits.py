"""How many pods of a gang can be placed at most, however many pods of others end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.explain.placement.neighbours import apart, without_neighbours
from kubeflow_volcano.validators.explain.placement.nodes import Node, nodes_of
from kubeflow_volcano.validators.explain.placement.pod_sets import PodSet, how_many_fit, is_excluded

_ZERO = Decimal(0)
_STAY = frozenset({"DaemonSet", "Node"})


def most_that_fit(sets: Sequence[PodSet], about: Situation) -> int:
    """An upper bound: no scheduler ever places more of these pods at the same time on the nodes as they are.

    Each role alone, each resource alone, and the node of an unbound claim set a limit.
    """
    count = sum(item.count for item in sets)
    if any((item.wish.pod["spec"].get("affinity") or {}).get("podAffinity") for item in sets):
        return count  # the simple search below may miss the place where all of them can be together
    nodes = _emptied(about)
    free = [item for item in sets if not item.wish.unbound]
    shared = [[item for item in sets if name in item.wish.unbound] for name in _unbound(sets)]
    by_role = sum(how_many_fit([item], nodes, item.count) for item in free)
    on_one_node = sum(max((_limit(items, [node]) for node in nodes), default=0) for items in shared)
    return min(by_role + on_one_node, _limit(sets, nodes))


def _unbound(sets: Sequence[PodSet]) -> list[str]:
    return list(dict.fromkeys(name for item in sets for name in item.wish.unbound))


def _limit(sets: Sequence[PodSet], nodes: Sequence[Node]) -> int:
    """The lowest of the limits that roles and resources set on these nodes."""
    names = {name for item in sets for name in item.wish.requests}
    by_role = sum(how_many_fit([item], nodes, item.count) for item in sets)
    return min(by_role, *(_most_by_resource(name, sets, nodes) for name in names))


def waits_for_others(pods: PodSet, about: Situation) -> bool:
    """Whether a node accepts one of the pods once all pods of others have ended."""
    return how_many_fit([pods], _emptied(about), 1) == 1


def _emptied(about: Situation) -> tuple[Node, ...]:
    """The nodes without pods that end: DaemonSets', static ones and the job's own stay."""
    own = {pod["metadata"]["uid"] for pod in about.pods}
    stay = [pod for pod in about.facts.all("pods") if pod["metadata"]["uid"] in own or _stays(pod)]
    return nodes_of(about.facts.all("nodes"), stay)


def _stays(pod: Object) -> bool:
    return any(item["kind"] in _STAY for item in pod["metadata"].get("ownerReferences") or ())


def _most_by_resource(name: str, sets: Sequence[PodSet], nodes: Sequence[Node]) -> int:
    """How many of the pods, the smallest first, the sum of the resource on the nodes that accept them is enough for."""
    usable = [node for node in nodes if any(not is_excluded(item, node, nodes) for item in sets)]
    left = sum((max(node.free(name), _ZERO) for node in usable), _ZERO)
    most = 0
    for amount, count in sorted((item.wish.requests.get(name, _ZERO), item.count) for item in sets):
        fitting = count if amount <= 0 else min(count, int(left / amount))
        most, left = most + fitting, left - amount * fitting
        if fitting < count:
            break
    return most


def keeps_apart(sets: Sequence[PodSet], nodes: Sequence[Node], needed: int) -> tuple[str, ...]:
    """Rules of the pods that keep them apart, where their requests would fit without these; else none."""
    free = [replace(item, wish=replace(item.wish, pod=without_neighbours(item.wish.pod))) for item in sets]
    rules = dict.fromkeys(rule for item in sets for rule in apart(item.wish.pod))
    return tuple(rules) if rules and how_many_fit(free, nodes, needed) >= needed else ()


def keeps_together(sets: Sequence[PodSet], nodes: Sequence[Node], needed: int) -> tuple[str, ...]:
    """Claims that keep the pods on one node, where their requests would fit without these; else none."""
    free = [replace(item, wish=replace(item.wish, unbound=())) for item in sets]
    claims = _unbound(sets)
    return tuple(claims) if claims and how_many_fit(free, nodes, needed) >= needed else ()
