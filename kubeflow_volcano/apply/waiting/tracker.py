"""What must be up before others are sent: CRDs served, workloads ready, webhooks answering. Each in its own way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS, Graph
from kubeflow_volcano.apply.result import ObjectOutcome
from kubeflow_volcano.apply.waiting.monitor import Monitor
from kubeflow_volcano.apply.waiting.served import Served
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem

__all__ = ["Gates", "Opened"]

Answer = Callable[[Ref], tuple[Sequence[Problem], Sequence[ObjectOutcome]]]
"""Waits until a webhook configuration's webhooks answer; what stands in the way, and what was done about it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What somebody waits for is ready, or cannot become so: `problems`. `outcomes` is what was done on the way."""

    ref: Ref
    problems: tuple[Problem, ...] = ()
    outcomes: tuple[ObjectOutcome, ...] = ()


class Gates:
    """Waits for everything of which somebody needs the readiness; its news come from its own threads."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        objects: Mapping[Ref, Object],
        graph: Graph,
        deadline: Deadline,
        answer: Answer,
        unready: Callable[[Readiness, Ref], Problem],
        refused: Callable[[ApiError], Problem],
    ) -> None:
        """`answer` waits for a webhook; `unready` and `refused` put into words what did not come up."""
        self._cluster = cluster
        self._objects = objects
        self._graph = graph
        self._deadline = deadline
        self._answer = answer
        self._unready = unready
        self._refused = refused
        self._closed = True

    def start(self, awaited: Collection[Ref], put: Callable[[Opened], None]) -> None:
        """Get ready to wait for these, and tell of each by `put`."""
        self._put = put
        self._closed = False
        self._lock = threading.Lock()
        self.shut = set(awaited)
        """What is still waited for."""
        crds = {ref for ref in awaited if ref.kind == CRD_KIND}
        self._hooks = {
            ref: self.shut & self._graph.behind.get(ref, set()) for ref in awaited if ref.kind in WEBHOOK_KINDS
        }
        self._applied: set[Ref] = set()
        self._asked: set[Ref] = set()
        self._served = Served(
            self._cluster,
            {ref: self._objects[ref] for ref in crds},
            self._deadline,
            self._heard,
        )
        self._watched = set(awaited) - crds - self._hooks.keys()
        self._monitor = Monitor(self._cluster, self._watched, self._deadline, self._heard)

    def passed(self, ref: Ref, generation: int, *, ready: bool) -> None:
        """The object is on the cluster, in that generation; `ready` when it is known to be so already."""
        if ref not in self.shut:
            return
        if ref in self._hooks:
            self._applied.add(ref)
            self._try_hooks()
        elif ready:
            self._open(Opened(ref))
        elif ref.kind == CRD_KIND:
            self._served.arm(ref)
        else:
            self._monitor.arm(ref, generation)

    @property
    def pending(self) -> Mapping[Ref, str]:
        """What is on the cluster and not ready yet, each with a sentence that says how it stands."""
        told = dict(self._served.pending) | dict(self._monitor.pending)
        return told | {ref: f"the webhooks of {ref.name} are asked." for ref in list(self._asked)}

    @property
    def establishing(self) -> bool:
        """Whether the API server is at work on CRDs that somebody waits for."""
        return self._served.busy

    def close(self) -> None:
        """Wait for nothing any more."""
        self._closed = True
        self._monitor.close()
        self._served.close()

    def _heard(self, ref: Ref, answer: Readiness | ApiError) -> None:
        if isinstance(answer, ApiError):
            self._open(Opened(ref, (self._refused(answer),)))
        elif not answer.ready:
            self._open(Opened(ref, (self._unready(answer, ref),)))
        else:
            self._open(Opened(ref))

    def _open(self, opened: Opened) -> None:
        with self._lock:
            if opened.ref not in self.shut or self._closed:
                return
            self.shut.discard(opened.ref)
            self._asked.discard(opened.ref)
            for behind in self._hooks.values():
                if not opened.problems:
                    behind.discard(opened.ref)
            unwatched = self._watched.isdisjoint(self.shut)
        if unwatched:
            self._monitor.stop()  # what everybody else's pods do from then on is not worth anybody's time
        self._put(opened)
        self._try_hooks()

    def _try_hooks(self) -> None:
        """A webhook is asked once its configuration is applied and all pods behind it are ready."""
        with self._lock:
            ripe = [ref for ref in self._applied if not self._hooks[ref]]
            self._applied -= set(ripe)
            self._asked |= set(ripe)
        for ref in ripe:
            threading.Thread(target=self._ask, args=(ref,), daemon=True, name="webhook").start()

    def _ask(self, ref: Ref) -> None:
        try:
            problems, outcomes = self._answer(ref)
        except ApiError as error:
            problems, outcomes = [self._refused(error)], ()
        self._open(Opened(ref, tuple(problems), tuple(outcomes)))
