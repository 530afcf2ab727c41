"""Opening and closing queues by Volcano's Commands.

Like `vcctl queue operate`, a run creates a Command (bus.volcano.sh). Volcano's controllers execute it, close child
queues as well, and keep the state Closing until the last job is gone. They own the state: since v1.11.0 they apply it
server-side, and another field manager would take it from them. Rules: pkg/controllers/queue, pkg/cli/queue and
pkg/webhooks/admission/queues of Volcano v1.8.0 to v1.15.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.queues.view import API, minimal_queue, state_of
from kubeflow_volcano.rollout.settings.queue_states import QueueState, ancestors
from kubeflow_volcano.rollout.state.store import NAMESPACE

_ANSWER_SECONDS = 30.0
_TICK_SECONDS = 0.5
_STATES = {QueueState.OPEN: frozenset({"Open"}), QueueState.CLOSED: frozenset({"Closing", "Closed"})}
_REOPENS_CLOSING = (1, 11)
"""Before this version the controllers open a queue through its webhook, which rejects changes of a Closing queue."""


def plan_transitions(
    live: Mapping[str, Object], states: Mapping[str, QueueState], by_name: Mapping[str, Mapping[str, object]]
) -> list[tuple[str, QueueState]]:
    """The queues to open, parents first, and then the queues to close, children first.

    In check mode a queue that does not exist yet counts as Open.
    """
    depth = {name: len(ancestors(name, by_name)) for name in states}
    now = {name: state_of(live[name]) if name in live else "Open" for name in states}
    opened = [
        (name, QueueState.OPEN) for name, state in states.items() if state is QueueState.OPEN and now[name] != "Open"
    ]
    closed = [
        (name, QueueState.CLOSED)
        for name, state in states.items()
        if (state is QueueState.CLOSED or (state is QueueState.ABSENT and name in live))
        and now[name] not in _STATES[QueueState.CLOSED]
    ]
    return sorted(opened, key=lambda item: depth[item[0]]) + sorted(closed, key=lambda item: -depth[item[0]])


def transition_queue(run: Engine, queue: Object, state: QueueState, version: str) -> bool:
    """Open or close one queue; returns whether Volcano did so in time."""
    ref, before = Ref.of(queue), state_of(queue)
    after = "Open" if state is QueueState.OPEN else "Closed"
    if not run.check:
        verb = "open" if state is QueueState.OPEN else "close"
        run.progress(f"queue {ref.name} is {before}: asking Volcano to {verb} it")
        deadline = run.deadline.at_most(_ANSWER_SECONDS)
        if before == "Closing" and version_key(version) < _REOPENS_CLOSING:
            path = run.cluster.resource(ref.api_version, ref.kind).path("", ref.name) + "/status"
            body = {"status": {"state": "Open"}}
            run.cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")
            command = None
        else:
            command = run.cluster.create(_command(queue, verb))
        reached = _wait_for_state(run.cluster, ref, _STATES[state], deadline)
        if reached is None:
            run.add_problem(_not_executed(run.cluster, ref, verb, command, deadline))
            return False
        after = reached
    texts = minimal_queue(ref.name, before), minimal_queue(ref.name, after)
    run.add_outcome(ObjectOutcome(ref, Action.CHANGED, *texts, component="volcano"))
    return True


def _command(queue: Object, verb: str) -> Object:
    meta = queue["metadata"]
    target = {"apiVersion": API, "kind": "Queue", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return new_object(
        "bus.volcano.sh/v1alpha1",
        "Command",
        "",
        NAMESPACE,
        meta={"generateName": f"{meta['name']}-{verb}-", "ownerReferences": [target]},
        target=target,
        action=f"{verb.capitalize()}Queue",
    )


def _wait_for_state(cluster: Cluster, ref: Ref, states: frozenset[str], deadline: Deadline) -> str | None:
    """The first of `states` that the queue reaches; None if it reaches none by the deadline."""
    subject = Subject(ref.api_version, ref.kind, fields=f"metadata.name={ref.name}")
    with Observer(cluster, [subject], deadline) as observer:
        for change in observer.changes(tick=_TICK_SECONDS):
            for obj in change.objects if change and change.type != "DELETED" else ():
                if state_of(obj) in states:
                    return state_of(obj)
    return None


def _not_executed(cluster: Cluster, ref: Ref, verb: str, command: Object | None, deadline: Deadline) -> Problem:
    """The problem of a Command that had no effect; deletes it, so that it is not executed later."""
    executed = command is None or not cluster.delete(Ref.of(command), uid=command["metadata"]["uid"])
    live = cluster.get(ref)
    state = f"is {state_of(live)}" if live else "does not exist any more"
    how = "" if executed else "; Volcano's controllers did not execute the Command"
    return Problem(
        f"queue {ref.name} {state} {deadline.elapsed:.0f} s after the request to {verb} it{how}.",
        "Volcano's controllers, which open and close queues.",
        f"read their messages (kubectl describe queues.scheduling.volcano.sh {ref.name}; "
        "kubectl -n volcano-system logs deployment/volcano-controllers), fix the cause, and run again.",
    )
