"""Why nodes refuse pods, in words: the obstacles, the number of nodes that have each, and what would resolve them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.placement.nodes import Refusal

Refusals = Mapping[str, Sequence[Refusal]]
"""Why nodes refuse a pod, by their names."""
_MOST_NAMES = 3
_TODO = {
    "LeftOut": "label a node as --node-selector of Volcano's scheduler demands, or remove the flag",
    "NotReady": "repair the nodes that are not Ready",
    "Cordoned": "uncordon a node (kubectl uncordon NODE)",
    "Taint": "tolerate the taint in the pod template, or remove it from a node",
    "Selector": "label a node to match nodeSelector, or change nodeSelector",
    "Affinity": "label a node to match nodeAffinity, or change nodeAffinity",
    "Volume": "free the node of the volume, or use a claim that more nodes can reach",
    "DeviceClaim": "free the node of the devices, or give the pods a ResourceClaim of their own, which no pod has yet",
    "PodAffinity": "start the pods that podAffinity requires first, or change podAffinity",
    "PodAntiAffinity": "add a node, or change podAntiAffinity",
    "SpreadKey": "label the nodes for topologySpreadConstraints, or change their topologyKey",
    "Spread": "add a node, or change topologySpreadConstraints",
    "HostPort": "free the host port, or request another one",
    "UnboundClaim": "wait until the claim is bound, or use another one",
    "Insufficient": "free the missing resource, wait until other pods end, or add a node",
    "Absent": "correct the name of the resource, add nodes that have it, or start the device plugin that offers it",
    "Never": "in the pod template, request at most what the largest node has, or add a larger node",
}
# A node that will accept the pod once other pods end is nearer than one that has to be changed, and that one is nearer
# than another machine.
_DISTANCE = {"Absent": 2, "Never": 1}
_OF_RESOURCES = frozenset({"Insufficient", "Never"})


def remedies(refused: Refusals) -> list[str]:
    """What makes a node accept the pod: on the nodes with the fewest obstacles, what takes the most to resolve."""
    nearest = min((_distance(items) for items in refused.values()), default=None)
    return sorted({_TODO[_hardest(items).reason] for items in refused.values() if _distance(items) == nearest})


def _distance(items: Sequence[Refusal]) -> tuple[int, int]:
    return max(_DISTANCE.get(item.reason, 0) for item in items), len(items)


def _hardest(items: Sequence[Refusal]) -> Refusal:
    """The refusal that takes the most to resolve."""
    return max(items, key=lambda item: _DISTANCE.get(item.reason, 0))


def summary(refused: Refusals) -> str:
    """Each obstacle with the number of nodes that have it, the most frequent first."""
    counts: dict[str, int] = {}
    for items in refused.values():
        for text in {f"no room for {item.lacks}" if item.reason in _OF_RESOURCES else item.text for item in items}:
            counts[text] = counts.get(text, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{text} ({counted(number, 'node')})" for text, number in ordered)


def by_reasons(refused: Refusals) -> Iterator[str]:
    """One line for all nodes with the same reasons."""
    return by_text((name, "; ".join(item.text for item in items)) for name, items in refused.items())


def by_text(nodes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """One line for all nodes with the same text, given as pairs of both."""
    alike: dict[str, list[str]] = {}
    for name, text in nodes:
        alike.setdefault(text, []).append(name)
    for text, names in alike.items():
        shown = ", ".join(names[:_MOST_NAMES])
        yield f"{shown if len(names) <= _MOST_NAMES else f'{len(names)} nodes ({shown}, …)'}: {text}"
