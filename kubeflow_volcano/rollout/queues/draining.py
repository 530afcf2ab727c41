"""Closed queues on their way out: each is removed when it is empty, and what is in the others is told."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.watch.observer import Observer
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.queues.jobs import API, SUBJECTS, QueueView, shown_queue, state_of
from kubeflow_volcano.rollout.state.namespace import NAMESPACE
from kubeflow_volcano.text import counted

__all__ = ["MADE", "drain"]

MADE = Ref("v1", "ConfigMap", NAMESPACE, "rollout-queues")
"""The queues that a roll-out has made: UID by name. No other one is deleted."""

_LOOK_SECONDS = 10.0
_TOLD_SECONDS = 10.0
_TICK_SECONDS = 0.5
_SHOWN = 5
_LOOKS = 5
"""So often a queue that changes while it is deleted is looked at in a row."""

_HOLDS_BACK = (1, 12)
"""From here on the scheduler starts no waiting job in a queue that is not open."""


def drain(run: Engine, uids: Mapping[str, str], seconds: float, version: str) -> None:
    """Remove each of these closed queues (UID by name) as soon as it is empty; warn of those that are not in time.

    In check mode it is noted which of them are empty now.

    Raises:
        ApiError: the API server refused to tell.
    """
    left = _now_empty(run, uids) if run.check else _in_time(run, uids, seconds)
    view = QueueView.read(run.cluster) if left else QueueView()
    for name in left:
        run.add_warning(_occupied(view, name, version))


def _now_empty(run: Engine, uids: Mapping[str, str]) -> list[str]:
    """Note those that would go; the names of those that have jobs, or a part that has some."""
    view = QueueView.read(run.cluster)
    left = [name for name in uids if view.jobs(name)]
    while above := [name for name in uids if name not in left and not set(left).isdisjoint(view.parts(name))]:
        left += above
    for name in uids:
        if name not in left:
            _note_removed(run, name)
    return left


def _in_time(run: Engine, uids: Mapping[str, str], seconds: float) -> list[str]:
    """Remove what becomes empty in that time; the names of the others."""
    left, view = dict(uids), QueueView()
    drained, told = Deadline(seconds), Deadline(0)
    with Observer(run.cluster, SUBJECTS, Deadline(seconds + _LOOK_SECONDS)) as observer:
        for change in observer.changes(tick=_TICK_SECONDS):
            if change:
                view.take(change)
            if not view.complete:
                continue
            ready = [name for name in left if view.empty(name) or not view.queue(name)]
            removed = [name for name in ready if _removed(run, name, left[name])]
            for name in removed:
                del left[name]
            if not left or run.lost.is_set() or (drained.passed and not removed):
                break
            if told.passed:
                run.progress(_waiting(view, next(iter(left)), len(left), drained))
                told = Deadline(_TOLD_SECONDS)
    return list(left)


def _removed(run: Engine, name: str, uid: str) -> bool:
    """Delete a queue that is still empty; whether it is gone, also by somebody else's hand.

    It is deleted as it was when nothing was found in it: one that was opened since, or that the controllers have
    counted a job in, is looked at again. What Volcano's webhook refuses is tried again later.
    """
    ref = Ref(API, "Queue", "", name)
    for _ in range(_LOOKS):
        view = QueueView.read(run.cluster)
        live = view.queue(name)
        if live is None:
            run.progress(f"{ref} is gone already")
            break
        if live["metadata"]["uid"] != uid or not view.empty(name):
            return False
        try:
            deleted = run.cluster.delete(ref, uid=uid, version=live["metadata"]["resourceVersion"])
        except ApiError as error:
            run.progress(f"{ref} is not deleted yet: {error.message}")
            return False
        if deleted:
            _note_removed(run, name)
            break
    else:
        return False
    run.cluster.patch(MADE, {"data": {name: None}})
    return True


def _note_removed(run: Engine, name: str) -> None:
    before = shown_queue(name, "Closed")
    run.add_outcome(ObjectOutcome(Ref(API, "Queue", "", name), Action.REMOVED, before, None, component="volcano"))


def _waiting(view: QueueView, name: str, number: int, drained: Deadline) -> str:
    return f"draining {counted(number, 'queue')}, {drained.remaining:.0f} s left; queue {name} {_held(view, name)}"


def _occupied(view: QueueView, name: str, version: str) -> Problem:
    held_back = view.jobs(name) and version_key(version) >= _HOLDS_BACK
    stuck = " Those that wait do not start in a closed queue." if held_back else ""
    return Problem(
        f"queue {name} is to be absent and {_held(view, name)}.{stuck}",
        "an empty queue: none is deleted with a job in it, also with one that has ended and still has its PodGroup.",
        "run again when its jobs are gone; until then it stays closed to new ones.",
    )


def _held(view: QueueView, name: str) -> str:
    """What keeps a queue, as the end of a sentence."""
    if jobs := view.jobs(name):
        more = f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
        return f"has {counted(len(jobs), 'job')}: {', '.join(jobs[:_SHOWN])}{more}"
    if parts := view.parts(name):
        return f"has {counted(len(parts), 'queue')} below it: {', '.join(parts)}"
    live = view.queue(name)
    return f"is {state_of(live)}, without a job" if live else "is gone"
