"""Which objects may be sent next: the graph of a run while its objects are being sent. Pure."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Literal

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS, WORKLOAD_KINDS, Graph
from kubeflow_volcano.cluster.objects import Ref

_READY_WEIGHT = 5
_GATHERING, _CRDS, _OTHERS, _LAST = 2, 3, 4, 5
"""Ranks: aggregated ClusterRoles, CRDs, everything after them, and last workloads and Services."""
_FIRST = {"Namespace": 0, "ClusterRole": 1, CRD_KIND: _CRDS}
_OF_PODS = {"Service"} | WORKLOAD_KINDS | WEBHOOK_KINDS
_Condition = tuple[Literal["applied", "ready"], Ref]


class ReadyQueue:
    """The objects that are still to be sent, and the conditions that each of them waits for.

    Objects in `up_to_date` are on the cluster already and are not sent. The order among objects whose conditions hold:

    1. Namespaces.
    2. ClusterRoles, quickly one after the other: their controller rewrites an aggregated ClusterRole after each change
       of its sources, but only once for many changes at once, and not at all while it does not exist. So aggregated
       ClusterRoles come after the others.
    3. CRDs, because establishing them takes the API server longest.
    4. Everything else.
    5. Services, workloads and webhooks for whose readiness no other object waits: their pods and endpoints would slow
       the API server down.

    Within a rank, the object with the longest chain of dependents comes first, such as the CRDs of a webhook's backend;
    then the order of the text decides.
    """

    def __init__(self, graph: Graph, up_to_date: Collection[Ref]) -> None:
        self._pending: dict[Ref, set[_Condition]] = {}
        self._waiters: dict[_Condition, list[Ref]] = defaultdict(list)
        self._heap: list[tuple[int, int, int, Ref]] = []
        self._order = {ref: number for number, ref in enumerate(graph.needs)}
        self._heights = _heights(graph)
        self._gathering = graph.gathering
        for ref, needs in graph.needs.items():
            if ref in up_to_date:
                continue
            conditions: set[_Condition] = {("applied", need) for need in needs.applied if need not in up_to_date}
            conditions |= {("ready", need) for need in needs.ready}
            self._pending[ref] = conditions
            for condition in conditions:
                self._waiters[condition].append(ref)
            if not conditions:
                self._push(ref)

    @property
    def waiting(self) -> int:
        """How many objects have not been taken yet."""
        return len(self._pending)

    @property
    def awaited(self) -> frozenset[Ref]:
        """The objects for whose readiness others still wait."""
        return frozenset(ref for (kind, ref), waiters in self._waiters.items() if kind == "ready" and waiters)

    def take(self, *, crds: bool = True, quietly: bool = False) -> Ref | None:
        """The next object that may be sent; None when every object that is left has to wait.

        Args:
            crds: False holds back CRDs and all later ranks.
            quietly: True holds back the last rank.
        """
        held = {_CRDS: not crds, _LAST: quietly}
        while self._heap and not held.get(self._heap[0][0]):
            ref = heapq.heappop(self._heap)[3]
            if self._pending.pop(ref, None) is not None:
                return ref
        return None

    def mark_applied(self, ref: Ref) -> None:
        """The API server has accepted the object."""
        self._meet(("applied", ref))

    def mark_ready(self, ref: Ref) -> None:
        """The object is ready."""
        self._meet(("ready", ref))

    def drop_dependents(self, ref: Ref) -> Iterator[Ref]:
        """The object failed: yields its dependents, direct and indirect, which will never be sent."""
        conditions: tuple[_Condition, _Condition] = (("applied", ref), ("ready", ref))
        for condition in conditions:
            for waiter in self._waiters.pop(condition, ()):
                if self._pending.pop(waiter, None) is not None:
                    yield waiter
                    yield from self.drop_dependents(waiter)

    def _meet(self, condition: _Condition) -> None:
        for waiter in self._waiters.pop(condition, ()):
            conditions = self._pending.get(waiter)
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
    """Length of the longest chain of dependents of each object; waiting for readiness counts as several steps."""
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
