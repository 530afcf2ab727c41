"""Do pods of several roles find places at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.pods.quantities import total
from validators.explain.model import counted
from validators.explain.placing.nodes import Node, Wish, refusals

__all__ = ["Group", "fits", "stays_shut"]


@dataclass(frozen=True, slots=True)
class Group:
    """Pods of one role that still want a place: `count` of them, alike; `example` is one, where one exists."""

    role: str
    count: int
    wish: Wish
    example: Ref | None = None

    @property
    def title(self) -> str:
        """How many of what, such as '4 pods of worker'."""
        name = self.example.name if self.example else ""
        return f"{counted(self.count, 'pod')} {f'of {self.role}' if self.role else f'such as {name}'}"


def fits(groups: Sequence[Group], nodes: Sequence[Node], limit: int) -> int:
    """How many of the pods find a place at the same time; stops at `limit`, and leaves the nodes as they are.

    Pods with the fewest nodes to go to come first, among them the largest, each to a node that the fewest others want;
    where not all are needed, the smallest first as well. That is no proof that there is no other way, only that a
    simple one was not found.
    """
    shut = {id(group): {node.name for node in nodes if stays_shut(group, node, nodes)} for group in groups}
    wanted = {node.name: sum(node.name not in names for names in shut.values()) for node in nodes}
    whole = total(node.allocatable for node in nodes)

    def share(group: Group) -> Decimal:
        parts = (amount / whole[name] for name, amount in group.wish.requests.items() if whole.get(name))
        return max(parts, default=Decimal(0))

    ordered = sorted(groups, key=lambda group: (-len(shut[id(group)]), -share(group)))
    placed = _packed(ordered, nodes, wanted, limit)
    if placed < limit < sum(group.count for group in groups):
        placed = max(placed, _packed(sorted(groups, key=share), nodes, wanted, limit))
    return placed


def _packed(groups: Iterable[Group], nodes: Sequence[Node], wanted: Mapping[str, int], limit: int) -> int:
    """First fit in the order that is given, on copies of the nodes."""
    copies = [Node(node.obj, node.allocatable, dict(node.used), list(node.pods)) for node in nodes]
    copies.sort(key=lambda node: wanted[node.name])
    placed = 0
    for group in groups:
        left = group.count
        for node in copies:
            while left and placed < limit and not refusals(group.wish, node, copies):
                node.add(group.wish)
                left, placed = left - 1, placed + 1
    return placed


def stays_shut(group: Group, node: Node, nodes: Sequence[Node]) -> bool:
    """Whether something other than what is free keeps the pods off."""
    return any(item.reason != "Insufficient" for item in refusals(group.wish, node, nodes))
