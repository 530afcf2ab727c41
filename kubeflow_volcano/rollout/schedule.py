"""Sending a graph of objects: each as soon as what it needs is there, eight at a time at most."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.apply import problem_of
from kubeflow_volcano.rollout.frontier import Frontier
from kubeflow_volcano.rollout.gates import Gates, Opened
from kubeflow_volcano.rollout.result import Action, ObjectOutcome
from kubeflow_volcano.rollout.survey import THREADS, Found, Presence

__all__ = ["Schedule"]

_TICK_SECONDS = 0.5
_BESIDE_CRDS = 2
"""While the API server establishes CRDs, one after the other, more requests would only slow that down."""
_LAST_NEWS_SECONDS = 3.0
"""How long after the deadline the last answers of what is waited for may come."""


@dataclass(frozen=True, slots=True)
class _Sent:
    ref: Ref
    outcome: ObjectOutcome


class Schedule:
    """The sending of one run. `send` is called from several threads; everything else happens in the caller's."""

    def __init__(
        self,
        *,
        objects: Mapping[Ref, Object],
        found: Mapping[Ref, Found],
        frontier: Frontier,
        gates: Gates,
        send: Callable[[Object, Found], ObjectOutcome],
        deadline: Deadline,
        tell: Callable[[int, Gates], None],
        lost: threading.Event,
    ) -> None:
        """`tell` is called about twice a second with the number of objects that are done; `lost` ends the run."""
        self._objects = objects
        self._found = found
        self._frontier = frontier
        self._gates = gates
        self._send = send
        self._deadline = deadline
        self._tell = tell
        self._lost = lost
        self._told = Deadline(_TICK_SECONDS)
        self._news: queue.SimpleQueue[_Sent | Opened | BaseException] = queue.SimpleQueue()
        self.outcomes: dict[Ref, ObjectOutcome] = {}
        self.problems: list[Problem] = []

    def run(self) -> None:
        """Send everything that can be sent, until the deadline; what came of it is in `outcomes` and `problems`.

        The deadline begins anew whenever an object is accepted or something becomes ready.
        """
        for ref, found in self._found.items():
            if found.presence is Presence.SETTLED:
                self.outcomes[ref] = ObjectOutcome(ref, Action.UNCHANGED, None, None)
        self._gates.start(self._frontier.awaited, self._news.put)
        pool = ThreadPoolExecutor(THREADS, thread_name_prefix="apply")
        try:
            for ref in self.outcomes:
                self._gates.passed(ref, 0, ready=self._found[ref].ready)
            self._loop(pool)
        except BaseException:
            self._deadline.end()  # or requests under way would go on being repeated
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            self._gates.close()
        self._hold_the_rest()

    def _loop(self, pool: ThreadPoolExecutor) -> None:
        busy = 0
        end: Deadline | None = None
        while True:
            while not self._deadline.passed and busy < self._limit and (ref := self._frontier.take()):
                pool.submit(self._send, self._objects[ref], self._found[ref]).add_done_callback(self._arrived(ref))
                busy += 1
            if self._deadline.passed:
                end = end or Deadline(_LAST_NEWS_SECONDS)
            if not busy and (not self._frontier.waiting or (end and end.passed)):
                return
            try:
                news = self._news.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                news = None
            match news:
                case _Sent():
                    busy -= 1
                    self._take_outcome(news.outcome)
                case Opened():
                    self._take_gate(news)
                case BaseException():
                    raise news
            self._tell_in_time()
            if self._lost.is_set():
                self._deadline.end()
                self.problems.append(_taken_over())
                return

    def _tell_in_time(self) -> None:
        if self._told.passed:
            self._told = Deadline(_TICK_SECONDS)
            self._tell(len(self.outcomes), self._gates)

    @property
    def _limit(self) -> int:
        """How many requests may be in flight now."""
        return _BESIDE_CRDS if self._gates.establishing and not self._frontier.defining else THREADS

    def _arrived(self, ref: Ref) -> Callable[[Future[ObjectOutcome]], None]:
        def put(future: Future[ObjectOutcome]) -> None:
            if not future.cancelled():
                self._news.put(future.exception() or _Sent(ref, future.result()))

        return put

    def _take_outcome(self, outcome: ObjectOutcome) -> None:
        self.outcomes[outcome.ref] = replace(outcome, seconds=self._deadline.elapsed)
        if outcome.action is Action.FAILED:
            self.problems.append(problem_of(outcome))
            self._hold(outcome.ref, f"{outcome.ref} was refused")
            return
        self._deadline.renew()
        self._frontier.applied(outcome.ref)
        self._gates.passed(outcome.ref, outcome.generation, ready=False)

    def _take_gate(self, opened: Opened) -> None:
        self.problems += [item for item in opened.problems if item not in self.problems]
        for outcome in opened.outcomes:
            self.outcomes[outcome.ref] = outcome
        if opened.problems:
            self._hold(opened.ref, f"{opened.ref} is not ready")
        else:
            self._deadline.renew()
            self._frontier.ready(opened.ref)

    def _hold(self, ref: Ref, why: str) -> None:
        for waiter in self._frontier.lost(ref):
            self.outcomes[waiter] = ObjectOutcome(waiter, Action.HELD, None, None, why)

    def _hold_the_rest(self) -> None:
        rest = [ref for ref in self._objects if ref not in self.outcomes]
        for ref in rest:
            self.outcomes[ref] = ObjectOutcome(ref, Action.HELD, None, None, "there was no time left for it")
        if rest and not self.problems:
            self.problems.append(_out_of_time(len(rest), self._deadline))


def _out_of_time(count: int, deadline: Deadline) -> Problem:
    return Problem(
        f"{count} objects were not sent when {deadline.seconds:.0f} s had passed without anything becoming ready.",
        "an API server that takes them in time.",
        "run again, which goes on from here; set kubeflow_wait_timeout_seconds higher if that happens again.",
    )


def _taken_over() -> Problem:
    return Problem(
        "another roll-out has taken the lock over, because this one could not renew it in time.",
        "one roll-out at a time, for two would undo each other's work.",
        "wait for the other one to end, and run again.",
    )
