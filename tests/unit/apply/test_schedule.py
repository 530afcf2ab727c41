"""Objects are sent side by side, each after what it needs; what is left over is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any, cast

import pytest

from kubeflow_volcano.apply.graph import CRD_KIND, Graph, Needs
from kubeflow_volcano.apply.ready_queue import ReadyQueue
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.apply.schedule import LOCK_LOST, OUT_OF_TIME, Schedule
from kubeflow_volcano.apply.survey import Found, Presence
from kubeflow_volcano.apply.waiting.tracker import Readied, ReadinessTracker
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem

Send = Callable[[Object, Found], ObjectOutcome]


class Instant:
    """Every object is ready as soon as it is applied, except those in `stuck`, which report their problem."""

    establishing = False

    def __init__(self, stuck: dict[Ref, Problem] | None = None) -> None:
        self.stuck = stuck or {}

    def start(
        self, awaited: Collection[Ref], put: Callable[[Readied], None], failed: Callable[[BaseException], None]
    ) -> None:
        self.awaited, self.put, self.failed = awaited, put, failed

    def mark_applied(self, ref: Ref, generation: int, *, ready: bool) -> None:
        assert generation >= 0
        assert ready in {True, False}
        if ref in self.awaited:
            self.put(Readied(ref, (self.stuck[ref],) if ref in self.stuck else ()))

    def close(self) -> None:
        pass


def obj(name: str) -> Object:
    """A Deployment if that is a capital letter, a CRD if it is a digit."""
    api_version, kind = ("apps/v1", "Deployment") if name.isupper() else ("v1", "ConfigMap")
    if name.isdigit():
        kind = CRD_KIND
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "n"}}


def ref(name: str) -> Ref:
    return Ref.of(obj(name))


def schedule(needs: dict[str, tuple[str, str]], send: Send, **more: Any) -> Schedule:
    graph = Graph({ref(name): Needs(set(map(ref, one)), set(map(ref, two))) for name, (one, two) in needs.items()}, {})
    settled = set(map(ref, more.get("settled", "")))
    found = {item: Found(Presence.UP_TO_DATE if item in settled else Presence.ABSENT) for item in graph.needs}
    return Schedule(
        objects={ref(name): obj(name) for name in needs},
        found=found,
        queue=ReadyQueue(graph, settled),
        tracker=cast("ReadinessTracker", Instant(more.get("stuck"))),
        send=send,
        deadline=more.get("deadline", Deadline(60)),
        report=lambda _done: None,
        lost=more.get("lost", threading.Event()),
    )


def made(obj: Object, _found: Found) -> ObjectOutcome:
    return ObjectOutcome(Ref.of(obj), Action.CREATED, None, None)


def actions(done: Schedule) -> dict[str, str]:
    return {ref.name: str(outcome.action) for ref, outcome in done.outcomes.items()}


def test_objects_without_needs_are_sent_side_by_side() -> None:
    together = threading.Barrier(12, timeout=30)

    def send(obj: Object, found: Found) -> ObjectOutcome:
        together.wait()
        return made(obj, found)

    done = schedule(dict.fromkeys("abcdefghijkl", ("", "")), send)
    done.run()
    assert set(actions(done).values()) == {"created"}
    assert not done.problems


def test_pods_wait_while_crds_are_being_established(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Instant, "establishing", True)
    sent: list[tuple[str, bool]] = []

    def send(obj: Object, found: Found) -> ObjectOutcome:
        sent.append((obj["metadata"]["name"], Instant.establishing))
        if len(sent) == 2:
            threading.Timer(0.3, setattr, (Instant, "establishing", False)).start()
        return made(obj, found)

    done = schedule(dict.fromkeys("Dab", ("", "")), send)
    done.run()
    assert sent[2] == ("D", False)
    assert sorted(sent[:2]) == [("a", True), ("b", True)]


def test_crds_are_sent_four_at_a_time_and_before_all_else() -> None:
    lock = threading.Lock()
    four = threading.Barrier(4, timeout=30)
    at_once: set[str] = set()
    most: list[set[str]] = []

    def send(obj: Object, found: Found) -> ObjectOutcome:
        name = obj["metadata"]["name"]
        with lock:
            at_once.add(name)
            most.append(set(at_once))
        if name.isdigit():
            four.wait()
        with lock:
            at_once.discard(name)
        return made(obj, found)

    done = schedule(dict.fromkeys("abcd12345678", ("", "")), send)
    done.run()
    assert set(actions(done).values()) == {"created"}
    assert max(len(names & set("12345678")) for names in most) == 4
    first = next(number for number, names in enumerate(most) if names & set("abcd"))
    assert set("12345678") == set().union(*most[: first + 1]) - set("abcd")


def test_each_is_sent_after_what_it_needs_and_settled_ones_never() -> None:
    order: list[str] = []

    def send(obj: Object, found: Found) -> ObjectOutcome:
        order.append(obj["metadata"]["name"])
        return made(obj, found)

    done = schedule({"d": ("", "c"), "c": ("b", ""), "b": ("a", ""), "a": ("", "")}, send, settled="a")
    done.run()
    assert order == ["b", "c", "d"]
    assert actions(done)["a"] == "unchanged"


def test_what_failed_holds_up_only_what_needs_it() -> None:
    def send(obj: Object, found: Found) -> ObjectOutcome:
        if obj["metadata"]["name"] == "a":
            return ObjectOutcome(Ref.of(obj), Action.FAILED, None, None, "422 Invalid: no good")
        return made(obj, found)

    done = schedule({"a": ("", ""), "b": ("a", ""), "c": ("", ""), "d": ("", "c"), "e": ("", "b")}, send)
    done.run()
    assert actions(done) == {"a": "failed", "b": "held", "c": "created", "d": "created", "e": "held"}
    assert len(done.problems) == 1


def test_what_does_not_become_ready_is_told_once() -> None:
    problem = Problem("it crashes.", "it to run.", "look.")
    done = schedule({"a": ("", ""), "b": ("", "a"), "c": ("", "a")}, made, stuck={ref("a"): problem})
    done.run()
    assert actions(done) == {"a": "created", "b": "held", "c": "held"}
    assert done.problems == [problem]


def test_what_there_was_no_time_for_is_a_problem() -> None:
    deadline = Deadline(60)

    def send(obj: Object, found: Found) -> ObjectOutcome:
        deadline.expire()
        return made(obj, found)

    done = schedule({"a": ("", ""), "b": ("a", "")}, send, deadline=deadline)
    done.run()
    assert actions(done) == {"a": "created", "b": "held"}
    assert [problem.reason for problem in done.problems] == [OUT_OF_TIME]


def test_a_lost_lock_ends_the_run() -> None:
    lost = threading.Event()

    def send(obj: Object, found: Found) -> ObjectOutcome:
        lost.set()
        return made(obj, found)

    done = schedule({"a": ("", ""), "b": ("a", "")}, send, lost=lost)
    done.run()
    assert actions(done)["b"] == "held"
    assert [problem.reason for problem in done.problems] == [LOCK_LOST]


def test_a_mistake_in_a_thread_is_not_swallowed() -> None:
    def send(_obj: Object, _found: Found) -> ObjectOutcome:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        schedule({"a": ("", "")}, send).run()


def test_a_mistake_in_a_thread_of_the_tracker_ends_the_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def mark_applied(self: Instant, ref: Ref, _generation: int, *, ready: bool) -> None:
        assert not ready
        if ref in self.awaited:
            threading.Timer(0.1, self.failed, [ZeroDivisionError()]).start()

    monkeypatch.setattr(Instant, "mark_applied", mark_applied)
    with pytest.raises(ZeroDivisionError):
        schedule({"a": ("", ""), "b": ("", "a")}, made, deadline=Deadline(3600)).run()
