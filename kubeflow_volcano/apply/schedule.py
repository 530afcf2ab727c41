"""Sending a graph of objects: each as soon as what it needs is there, twelve at a time at most."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.apply.ready_queue import Frontier
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.send import problem_of
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.apply.waiting.tracker import Gates, Opened
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem

__all__ = ["Schedule"]

_IN_FLIGHT = 12
"""Requests at a time. Measured on two cores with 594 objects: with 8 there were pauses, 16 gained nothing more."""
_CRDS_IN_FLIGHT = 4
"""CRDs among them. They are established in the order in which they are accepted, and with 12 at a time a large one that
a chain of webhooks begins with was overtaken by 40 small ones, and that chain came last, after all else was done."""
_TICK_SECONDS = 0.5
_LAST_NEWS_SECONDS = 3.0
"""How long after the deadline the last answers of what is waited for may come."""


class Schedule:
    """The sending of one run. `send` is called from several threads at once; whatever decides holds the lock."""

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
        self._state = threading.Condition()
        self._in_flight: set[Ref] = set()
        self._ended = False
        self._broken: BaseException | None = None
        self._nothing_left = threading.Event()
        self.outcomes: dict[Ref, ObjectOutcome] = {}
        self.problems: list[Problem] = []

    def run(self) -> None:
        """Send everything that can be sent, until the deadline; what came of it is in `outcomes` and `problems`.

        The deadline begins anew whenever an object is accepted or something becomes ready.
        """
        for ref, found in self._found.items():
            if found.presence is Presence.SETTLED:
                self.outcomes[ref] = ObjectOutcome(ref, Action.UNCHANGED, None, None)
        self._gates.start(self._frontier.awaited, self._heard)
        try:
            for ref in list(self.outcomes):
                self._gates.passed(ref, 0, ready=self._found[ref].ready)
            workers = min(_IN_FLIGHT, self._frontier.waiting)
            for number in range(workers):
                threading.Thread(target=self._work, daemon=True, name=f"apply-{number}").start()
            if workers:
                self._watch()
        except BaseException:
            self._deadline.end()  # or requests under way would go on being repeated
            raise
        finally:
            with self._state:
                self._ended = True
                self._state.notify_all()
            self._gates.close()
        self._hold_the_rest()

    def _watch(self) -> None:
        """Tell how it goes until nothing is left to do, or no time."""
        last_news: Deadline | None = None
        while not self._nothing_left.wait(_TICK_SECONDS):
            self._tell(len(self.outcomes), self._gates)
            if self._lost.is_set():
                self._deadline.end()
                self.problems.append(_taken_over())
                return
            if self._deadline.passed:
                last_news = last_news or Deadline(_LAST_NEWS_SECONDS)
                if last_news.passed and not self._in_flight:
                    return
        if self._broken:
            raise self._broken

    def _work(self) -> None:
        """One of the threads that send: whoever has an answer fetches the next object itself."""
        with self._raising_in_the_caller():
            while ref := self._next():
                outcome = self._send(self._objects[ref], self._found[ref])
                with self._state:
                    self._in_flight.discard(ref)
                    if not self._ended:
                        self._take_outcome(outcome)
                    self._state.notify_all()

    def _next(self) -> Ref | None:
        """Wait for an object that may be sent; None when there will be none."""
        with self._state:
            while not (self._ended or self._lost.is_set()):
                if not self._deadline.passed and (ref := self._take()):
                    self._in_flight.add(ref)
                    return ref
                if not self._in_flight and not self._frontier.waiting:
                    self._nothing_left.set()
                self._state.wait(_TICK_SECONDS)
        return None

    def _take(self) -> Ref | None:
        """Pods start after CRDs are established: what they bring about would delay those on a small control plane."""
        crds = sum(ref.kind == CRD_KIND for ref in self._in_flight)
        return self._frontier.take(crds=crds < _CRDS_IN_FLIGHT, quietly=self._gates.establishing)

    def _heard(self, opened: Opened) -> None:
        """From the threads of the gates."""
        with self._raising_in_the_caller(), self._state:
            if not self._ended:
                self._take_gate(opened)
                self._state.notify_all()

    @contextlib.contextmanager
    def _raising_in_the_caller(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:  # noqa: BLE001  a thread's end would go unnoticed
            self._broken = error
            self._nothing_left.set()

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
