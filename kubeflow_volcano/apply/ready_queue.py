"""Which objects may be sent now: the graph of a roll-out while it is being worked off. Pure."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Literal

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS, WORKLOAD_KINDS, Graph
from kubeflow_volcano.cluster.objects import Ref

__all__ = ["Frontier"]

_READY_WEIGHT = 5
_GATHERING, _CRDS, _OTHERS, _LAST = 2, 3, 4, 5
"""The ranks of cluster roles that gather others, of CRDs, of what comes after them, of pods and their addresses."""
_FIRST = {"Namespace": 0, "ClusterRole": 1, CRD_KIND: _CRDS}
_OF_PODS = {"Service"} | WORKLOAD_KINDS | WEBHOOK_KINDS
_Condition = tuple[Literal["applied", "ready"], Ref]


class Frontier:
    """The objects that are still to be sent, and the conditions that each of them waits for.

    `settled` are there already and are not sent. Namespaces come first, then cluster roles, together and fast, because
    those that gather others are written anew after each of these, but once for many that come at once, and not at all
    while they are not there yet: they come last. Then CRDs, before all else, for establishing them is what the API
    server takes longest for. Among equals comes first what has the longest chain of others behind it, such as the CRDs
    of a webhook's backend; then the order of the text counts. Last come Services, workloads and webhooks whose
    readiness nobody waits for: the pods and endpoints that they bring about would slow down everything else.
    """

    def __init__(self, graph: Graph, settled: Collection[Ref]) -> None:
        self._open: dict[Ref, set[_Condition]] = {}
        self._waiters: dict[_Condition, list[Ref]] = defaultdict(list)
        self._heap: list[tuple[int, int, int, Ref]] = []
        self._order = {ref: number for number, ref in enumerate(graph.needs)}
        self._heights = _heights(graph)
        self._gathering = graph.gathering
        for ref, needs in graph.needs.items():
            if ref in settled:
                continue
            conditions: set[_Condition] = {("applied", need) for need in needs.applied if need not in settled}
            conditions |= {("ready", need) for need in needs.ready}
            self._open[ref] = conditions
            for condition in conditions:
                self._waiters[condition].append(ref)
            if not conditions:
                self._push(ref)

    @property
    def waiting(self) -> int:
        """How many objects wait for something, or for their turn."""
        return len(self._open)

    @property
    def awaited(self) -> frozenset[Ref]:
        """Whose readiness somebody still waits for."""
        return frozenset(ref for (kind, ref), waiters in self._waiters.items() if kind == "ready" and waiters)

    def take(self, *, crds: bool = True, quietly: bool = False) -> Ref | None:
        """The next object that may be sent; None when all that is left has to wait.

        Without `crds`, CRDs and everything that comes after them have to wait, too; with `quietly`, workloads, Services
        and webhooks that nobody waits for.
        """
        held = {_CRDS: not crds, _LAST: quietly}
        while self._heap and not held.get(self._heap[0][0]):
            ref = heapq.heappop(self._heap)[3]
            if self._open.pop(ref, None) is not None:
                return ref
        return None

    def applied(self, ref: Ref) -> None:
        """The object was accepted."""
        self._met(("applied", ref))

    def ready(self, ref: Ref) -> None:
        """The object is ready for those that wait for that."""
        self._met(("ready", ref))

    def lost(self, ref: Ref) -> Iterator[Ref]:
        """The object failed: everything that waits for it, directly or not, will never be sent, and is returned."""
        conditions: tuple[_Condition, _Condition] = (("applied", ref), ("ready", ref))
        for condition in conditions:
            for waiter in self._waiters.pop(condition, ()):
                if self._open.pop(waiter, None) is not None:
                    yield waiter
                    yield from self.lost(waiter)

    def _met(self, condition: _Condition) -> None:
        for waiter in self._waiters.pop(condition, ()):
            conditions = self._open.get(waiter)
            if conditions is None:
                continue
            conditions.discard(condition)
            if not conditions:
                self._push(waiter)

    def _push(self, ref: Ref) -> None:
        heapq.heappush(self._heap, (self._rank(ref), -self._heights[ref], self._order[ref], ref))

    def _rank(self, ref: Ref) -> int:
        if ref.kind in _OF_PODS and self._heights[ref] < _READY_WEIGHT:
            return _LAST
        if ref in self._gathering:
            return _GATHERING
        return _FIRST.get(ref.kind, _OTHERS)


def _heights(graph: Graph) -> dict[Ref, int]:
    """The longest chain of objects behind each; waiting until something is ready counts as several."""
    behind: dict[Ref, list[tuple[Ref, int]]] = defaultdict(list)
    for ref, needs in graph.needs.items():
        for need in needs.applied:
            behind[need].append((ref, 1))
        for need in needs.ready:
            behind[need].append((ref, _READY_WEIGHT))
    heights: dict[Ref, int] = {}

    def height(ref: Ref) -> int:
        if ref not in heights:
            heights[ref] = max((height(other) + weight for other, weight in behind[ref]), default=0)
        return heights[ref]

    for ref in graph.needs:
        height(ref)
    return heights
