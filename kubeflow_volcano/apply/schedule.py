"""Sending a graph of objects: each as soon as its needs are met, at most twelve at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.problems import problem_of
from kubeflow_volcano.apply.ready_queue import ReadyQueue
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.apply.waiting.tracker import Readied, ReadinessTracker
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import carrying_thread
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import counted

OUT_OF_TIME = "OutOfTime"
"""Reason: nothing became ready for as long as the run waits."""
LOCK_LOST = "LockLost"
"""Reason: another roll-out may write now."""

_IN_FLIGHT = 12
"""Requests at a time. Measured on two cores with 594 objects: 8 left pauses, 16 gained nothing over 12."""
_CRDS_IN_FLIGHT = 4
"""CRDs among them. The API server establishes CRDs in the order in which it accepted them. With 12 at a time, 40 small
ones overtook a large one on which a chain of webhooks depends; that chain was still running when all else was done."""
_TICK_SECONDS = 0.5
_LAST_NEWS_SECONDS = 3.0
"""How long after the deadline answers of requests under way still count."""


class Schedule:
    """The sending of one run. `send` is called from several threads at once; decisions are made under one lock."""

    def __init__(
        self,
        *,
        objects: Mapping[Ref, Object],
        found: Mapping[Ref, Found],
        queue: ReadyQueue,
        tracker: ReadinessTracker,
        send: Callable[[Object, Found], ObjectOutcome],
        deadline: Deadline,
        report: Callable[[int], None],
        lost: threading.Event,
    ) -> None:
        """`report` is called twice a second with the number of objects that are done; `lost` ends the run."""
        self._objects = objects
        self._found = found
        self._queue = queue
        self._tracker = tracker
        self._send = send
        self._deadline = deadline
        self._report = report
        self._lost = lost
        self._state = threading.Condition()
        self._in_flight: set[Ref] = set()
        self._ended = False
        self._broken: BaseException | None = None
        self._nothing_left = threading.Event()
        self.outcomes: dict[Ref, ObjectOutcome] = {}
        self.problems: list[Problem] = []
        self.unready: set[Ref] = set()
        """Objects that others waited for, and that did not become ready."""

    def run(self) -> None:
        """Send everything that can be sent before the deadline; the results are `outcomes` and `problems`.

        The deadline restarts whenever the API server accepts an object or an object becomes ready.
        """
        for ref, found in self._found.items():
            if found.presence is Presence.UP_TO_DATE:
                self.outcomes[ref] = ObjectOutcome(ref, Action.UNCHANGED, None, None, uid=found.uid)
        self._tracker.start(self._queue.awaited, self._on_readiness, self._break)
        try:
            for ref in list(self.outcomes):
                self._tracker.mark_applied(ref, 0, ready=self._found[ref].ready)
            workers = min(_IN_FLIGHT, self._queue.waiting)
            for number in range(workers):
                carrying_thread(self._work, self._break, f"apply-{number}").start()
            if workers:
                self._watch()
        except BaseException:
            self._deadline.expire()  # otherwise requests under way would be retried further
            raise
        finally:
            with self._state:
                self._ended = True
                self._state.notify_all()
            self._tracker.close()
        self._block_rest()

    def _watch(self) -> None:
        """Report progress until nothing is left to do or the deadline has passed."""
        last_news: Deadline | None = None
        while not self._nothing_left.wait(_TICK_SECONDS):
            self._report(len(self.outcomes))
            if self._lost.is_set():
                self._deadline.expire()
                self.problems.append(lock_lost())
                return
            if self._deadline.passed:
                last_news = last_news or Deadline(_LAST_NEWS_SECONDS)
                if last_news.passed and not self._in_flight:
                    return
        if self._broken:
            raise self._broken

    def _work(self) -> None:
        """The loop of each sending thread."""
        while ref := self._next():
            outcome = self._send(self._objects[ref], self._found[ref])
            with self._state:
                self._in_flight.discard(ref)
                if not self._ended:
                    self._take_outcome(outcome)
                self._state.notify_all()

    def _next(self) -> Ref | None:
        """Wait for an object that may be sent; None when there will be no more."""
        with self._state:
            while not (self._ended or self._lost.is_set()):
                if not self._deadline.passed and (ref := self._take()):
                    self._in_flight.add(ref)
                    return ref
                if not self._in_flight and not self._queue.waiting:
                    self._nothing_left.set()
                self._state.wait(_TICK_SECONDS)
        return None

    def _take(self) -> Ref | None:
        """The next object. Pods wait until CRDs are established: on a small control plane they would delay these."""
        crds = sum(ref.kind == CRD_KIND for ref in self._in_flight)
        return self._queue.take(crds=crds < _CRDS_IN_FLIGHT, quietly=self._tracker.establishing)

    def _on_readiness(self, event: Readied) -> None:
        """Called from threads of the tracker."""
        with self._state:
            if not self._ended:
                self._take_readiness(event)
                self._state.notify_all()

    def _break(self, error: BaseException) -> None:
        """Raise the first such error in the thread that called `run`. Called from any thread."""
        self._broken = self._broken or error
        self._nothing_left.set()

    def _take_outcome(self, outcome: ObjectOutcome) -> None:
        self.outcomes[outcome.ref] = outcome
        if outcome.action is Action.FAILED:
            self.problems.append(problem_of(outcome, self._objects[outcome.ref]))
            self._hold_back(outcome.ref, f"{outcome.ref} was refused")
            return
        self._deadline.renew()
        self._queue.mark_applied(outcome.ref)
        self._tracker.mark_applied(outcome.ref, outcome.generation, ready=False)

    def _take_readiness(self, event: Readied) -> None:
        self.problems += [item for item in event.problems if item not in self.problems]
        for outcome in event.outcomes:
            self.outcomes[outcome.ref] = outcome
        if event.problems:
            self.unready.add(event.ref)
            self._hold_back(event.ref, f"{event.ref} is not ready")
        else:
            self._deadline.renew()
            self._queue.mark_ready(event.ref)

    def _hold_back(self, ref: Ref, why: str) -> None:
        for waiter in self._queue.drop_dependents(ref):
            self.outcomes[waiter] = self._held(waiter, why)

    def _held(self, ref: Ref, why: str) -> ObjectOutcome:
        return ObjectOutcome(ref, Action.HELD, None, None, why, uid=self._found[ref].uid)

    def _block_rest(self) -> None:
        rest = [ref for ref in self._objects if ref not in self.outcomes]
        for ref in rest:
            self.outcomes[ref] = self._held(ref, "the deadline passed before it was sent")
        if rest and not self.problems:
            self.problems.append(_out_of_time(len(rest), self._deadline))


def _out_of_time(count: int, deadline: Deadline) -> Problem:
    return Problem(
        f"{counted(count, 'object')} not sent: nothing became ready for {deadline.seconds:.0f} s.",
        "an API server that accepts objects in time.",
        "run again, which resumes.",
        OUT_OF_TIME,
    )


def lock_lost() -> Problem:
    """The problem of a roll-out that has to end because it does not hold the lock any more."""
    return Problem(
        "this roll-out lost its lock: it could not renew it in time, or another roll-out took it over.",
        "one roll-out at a time; two would overwrite each other's changes.",
        "check that the API server answers and wait until any other roll-out has finished; then run again.",
        LOCK_LOST,
    )
