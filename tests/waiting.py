"""Waiting for what comes about outside of a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline

_Answer = TypeVar("_Answer")


def until(found: Callable[[], _Answer | None], seconds: float = 120, *, every: float = 0.1) -> _Answer:
    """What `found` returns, as soon as it is something; it is asked every so many seconds.

    Raises:
        AssertionError: it has been nothing for so long; the text is its last answer.
    """
    end = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {answer!r}"
        time.sleep(every)
    return answer


def at_last(asked: Callable[[], _Answer], wanted: _Answer, seconds: float = 60, *, every: float = 0) -> _Answer:
    """What `asked` returns once that is what is wanted, else its last answer, for the assertion to show.

    For what follows with a delay that nobody can see, such as what kube-proxy makes of endpoints.
    """
    end = time.monotonic() + seconds
    while (answer := asked()) != wanted and time.monotonic() < end:
        time.sleep(every)
    return answer


def watched(api: Cluster, subject: Subject, content: Callable[[Object], bool], seconds: float = 240) -> Object:
    """An object of `subject` as soon as a watch shows it as wanted.

    Raises:
        AssertionError: none was for so long; the text is the last state.
    """
    last: Object = {}
    with Observer(api, [subject], Deadline(seconds)) as observer:
        for change in observer.changes():
            for obj in change.objects if change and change.type != "DELETED" else ():
                if content(last := obj):
                    return obj
    raise AssertionError(f"not within {seconds:g} s; last: {last}")


@dataclass
class Clock:
    """Time that passes by waiting alone, or by being moved; seconds."""

    now: float = 1000.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        """What it shows."""
        return self.now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.waits.append(seconds)
        self.now += seconds
