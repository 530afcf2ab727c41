"""Which objects have become ready for those that depend on them: CRDs served, workloads ready, webhooks answering."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS, Graph
from kubeflow_volcano.apply.result import ObjectOutcome
from kubeflow_volcano.apply.waiting.monitor import Failed, Monitor
from kubeflow_volcano.apply.waiting.served import Served
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import carrying_thread
from kubeflow_volcano.problems import Problem

Answer = Callable[[Ref], tuple[Sequence[Problem], Sequence[ObjectOutcome]]]
"""Waits until the webhooks of a configuration answer; returns what prevents that, and what was done about it."""


@dataclass(frozen=True, slots=True)
class Readied:
    """An object is ready, or `problems` say why it cannot become ready. `outcomes` are what was done on the way."""

    ref: Ref
    problems: tuple[Problem, ...] = ()
    outcomes: tuple[ObjectOutcome, ...] = ()


class ReadinessTracker:
    """Follows every object for whose readiness others wait, and reports each once, from threads of its own."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        objects: Mapping[Ref, Object],
        graph: Graph,
        deadline: Deadline,
        answer: Answer,
        not_ready: Callable[[Readiness, Ref], Problem],
        refusal: Callable[[ApiError], Problem],
    ) -> None:
        """`answer` waits for webhooks; `not_ready` and `refusal` describe what did not become ready."""
        self._cluster = cluster
        self._objects = objects
        self._graph = graph
        self._deadline = deadline
        self._answer = answer
        self._not_ready = not_ready
        self._refusal = refusal
        self._closed = True

    def start(self, awaited: Collection[Ref], report: Callable[[Readied], None], failed: Failed) -> None:
        """Prepare to follow these objects.

        `report` is called once for each, `failed` with an exception after which some of them will not be reported.
        """
        self._report = report
        self._failed = failed
        self._closed = False
        self._lock = threading.Lock()
        self.awaited = set(awaited)
        """Objects that are not ready yet."""
        crds = {ref for ref in awaited if ref.kind == CRD_KIND}
        self._hooks = {
            ref: self.awaited & self._graph.behind.get(ref, set()) for ref in awaited if ref.kind in WEBHOOK_KINDS
        }
        self._applied: set[Ref] = set()
        self._asked: set[Ref] = set()
        self._served = Served(
            self._cluster,
            {ref: self._objects[ref] for ref in crds},
            self._deadline,
            self._take,
            failed,
        )
        self._watched = set(awaited) - crds - self._hooks.keys()
        self._monitor = Monitor(self._cluster, self._watched, self._deadline, self._take, failed)

    def mark_applied(self, ref: Ref, generation: int, *, ready: bool) -> None:
        """The object is on the cluster in that generation; `ready` if it is known to be ready already."""
        if ref not in self.awaited:
            return
        if ref in self._hooks:
            with self._lock:
                self._applied.add(ref)
            self._ask_webhooks()
        elif ready:
            self._settle(Readied(ref))
        elif ref.kind == CRD_KIND:
            self._served.arm(ref)
        else:
            self._monitor.arm(ref, generation)

    @property
    def pending(self) -> Mapping[Ref, str]:
        """Objects that are applied and not ready yet, each with a sentence about its state."""
        states = dict(self._served.pending) | dict(self._monitor.pending)
        return states | {ref: f"the webhooks of {ref.name} do not answer yet." for ref in list(self._asked)}

    @property
    def establishing(self) -> bool:
        """Whether the API server is establishing CRDs for which other objects wait."""
        return self._served.busy

    def close(self) -> None:
        """Stop following."""
        self._closed = True
        self._monitor.close()
        self._served.close()

    def _take(self, ref: Ref, answer: Readiness | ApiError) -> None:
        if isinstance(answer, ApiError):
            self._settle(Readied(ref, (self._refusal(answer),)))
        elif not answer.ready:
            self._settle(Readied(ref, (self._not_ready(answer, ref),)))
        else:
            self._settle(Readied(ref))

    def _settle(self, event: Readied) -> None:
        with self._lock:
            if event.ref not in self.awaited or self._closed:
                return
            self.awaited.discard(event.ref)
            self._asked.discard(event.ref)
            for behind in self._hooks.values():
                if not event.problems:
                    behind.discard(event.ref)
            unwatched = self._watched.isdisjoint(self.awaited)
        if unwatched:
            self._monitor.stop()  # from then on the watch would bring only pods of others
        self._report(event)
        self._ask_webhooks()

    def _ask_webhooks(self) -> None:
        """Ask each webhook configuration that is applied and whose backends are all ready."""
        with self._lock:
            due = [ref for ref in self._applied if not self._hooks[ref]]
            self._applied -= set(due)
            self._asked |= set(due)
        for ref in due:
            carrying_thread(partial(self._ask, ref), self._failed, "webhook").start()

    def _ask(self, ref: Ref) -> None:
        try:
            problems, outcomes = self._answer(ref)
        except ApiError as error:
            problems, outcomes = [self._refusal(error)], ()
        self._settle(Readied(ref, tuple(problems), tuple(outcomes)))
