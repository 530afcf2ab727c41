"""Draining closed queues: each is deleted once it is empty; a warning lists what the others contain."""

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
from kubeflow_volcano.rollout.queues.view import API, SUBJECTS, QueueView, minimal_queue, state_of
from kubeflow_volcano.rollout.state.store import NAMESPACE
from kubeflow_volcano.text import counted, few

CREATED_QUEUES = Ref("v1", "ConfigMap", NAMESPACE, "rollout-queues")
"""UIDs by name of the queues that roll-outs created. Only these are deleted."""

_GRACE_SECONDS = 10.0
_REPORT_SECONDS = 10.0
_TICK_SECONDS = 0.5
_TRIES = 5
"""Attempts to delete a queue that changes between reading and deletion."""

_HOLDS_BACK = (1, 12)
"""Since this version the scheduler starts no pending job in a queue that is not Open."""


def drain(run: Engine, uids: Mapping[str, str], seconds: float, version: str) -> None:
    """Delete each of these closed queues (UID by name) once it is empty; warn about those that are not in time.

    Check mode reports which of them are empty now.

    Raises:
        ApiError: the API server refused a request.
    """
    left = _report_drained(run, uids) if run.check else _delete_drained(run, uids, seconds)
    view = QueueView.read(run.cluster) if left else QueueView()
    for name in left:
        run.add_warning(_not_drained(view, name, version))


def _report_drained(run: Engine, uids: Mapping[str, str]) -> list[str]:
    """Report the queues that would be deleted; returns those with jobs, or with children that have jobs."""
    view = QueueView.read(run.cluster)
    left = [name for name in uids if view.jobs(name)]
    while parents := [name for name in uids if name not in left and not set(left).isdisjoint(view.children(name))]:
        left += parents
    for name in uids:
        if name not in left:
            _report_deleted(run, name)
    return left


def _delete_drained(run: Engine, uids: Mapping[str, str], seconds: float) -> list[str]:
    """Delete the queues that are drained within `seconds`; returns the names of the others."""
    left, view = dict(uids), QueueView()
    drained, reported = Deadline(seconds), Deadline(0)
    with Observer(run.cluster, SUBJECTS, Deadline(seconds + _GRACE_SECONDS)) as observer:
        for change in observer.changes(tick=_TICK_SECONDS):
            if change:
                view.take(change)
            if not view.complete:
                continue
            ready = [name for name in left if view.is_drained(name) or not view.queue(name)]
            deleted = [name for name in ready if _delete(run, name, left[name])]
            for name in deleted:
                del left[name]
            if not left or run.lost.is_set() or (drained.passed and not deleted):
                break
            if reported.passed:
                run.progress(_progress_line(view, next(iter(left)), len(left), drained))
                reported = Deadline(_REPORT_SECONDS)
    return list(left)


def _delete(run: Engine, name: str, uid: str) -> bool:
    """Delete a queue if it is still empty; returns whether it does not exist any more.

    The deletion requires the resourceVersion at which the queue was empty: if the queue was opened or its status
    changed since, it is read again. If Volcano's webhook rejects the deletion, the next change retries it.
    """
    ref = Ref(API, "Queue", "", name)
    for _ in range(_TRIES):
        view = QueueView.read(run.cluster)
        live = view.queue(name)
        if live is None:
            run.progress(f"{ref} was already deleted")
            break
        if live["metadata"]["uid"] != uid or not view.is_drained(name):
            return False
        try:
            deleted = run.cluster.delete(ref, uid=uid, version=live["metadata"]["resourceVersion"])
        except ApiError as error:
            run.progress(f"{ref} is not deleted yet: {error.message}")
            return False
        if deleted:
            _report_deleted(run, name)
            break
    else:
        return False
    run.cluster.patch(CREATED_QUEUES, {"data": {name: None}})
    return True


def _report_deleted(run: Engine, name: str) -> None:
    before = minimal_queue(name, "Closed")
    run.add_outcome(ObjectOutcome(Ref(API, "Queue", "", name), Action.REMOVED, before, None, component="volcano"))


def _progress_line(view: QueueView, name: str, number: int, drained: Deadline) -> str:
    return f"draining {counted(number, 'queue')}, {drained.remaining:.0f} s left; queue {name} {_contents(view, name)}"


def _not_drained(view: QueueView, name: str, version: str) -> Problem:
    stuck = view.jobs(name) and version_key(version) >= _HOLDS_BACK
    note = " Pending jobs do not start in a closed queue." if stuck else ""
    return Problem(
        f"queue {name} has state: absent and {_contents(view, name)}.{note}",
        "an empty queue; a job counts as long as its PodGroup exists, even if it has ended.",
        "wait for its jobs or delete them, and run again. Until then the queue stays closed to new jobs.",
    )


def _contents(view: QueueView, name: str) -> str:
    """What keeps a queue from being deleted, as the end of a sentence."""
    if jobs := view.jobs(name):
        return f"has {counted(len(jobs), 'job')}: {few(jobs)}"
    if children := view.children(name):
        return f"has {counted(len(children), 'child queue')}: {', '.join(children)}"
    live = view.queue(name)
    return f"is {state_of(live)}, without jobs" if live else "does not exist any more"
