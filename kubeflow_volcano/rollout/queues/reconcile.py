"""Queues as the inventory wants them: what stands against it, which were made here, and how they come to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeflow_volcano.apply.compare import is_up_to_date
from kubeflow_volcano.apply.engine import Engine, refusal
from kubeflow_volcano.apply.normalize import normalize
from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.managers import MANAGER
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.queues.draining import MADE, drain
from kubeflow_volcano.rollout.queues.jobs import read_queues, shown_queue, state_of
from kubeflow_volcano.rollout.queues.transitions import move, moves
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings
from kubeflow_volcano.rollout.state.ledger import put

__all__ = ["remember_queues", "require_queues", "settle_queues"]

_QUEUE_OF_NAMESPACE = "scheduling.volcano.sh/queue-name"


def require_queues(cluster: Cluster, asked: SchedulingSettings, objects: Iterable[Object]) -> None:
    """See that what is asked of queues can be done; `objects` are those of Volcano as they are declared.

    Raises:
        InvalidInput: a queue that is to go was not made here, or others still lead to it; one whose fields are to
            change is just closing.
        ApiError: the API server refused to tell.
    """
    if not asked.queues:
        return
    live = read_queues(cluster)
    states = wanted_states(asked.queues)
    gone = [name for name, state in states.items() if state is QueueState.ABSENT and name in live]
    declared_queues = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "Queue"}
    problems = [*_unchangeable(live, declared_queues)]
    if gone:
        problems += _unremovable(cluster, live, declared_queues, gone)
    if problems:
        raise InvalidInput(problems)


def remember_queues(run: Engine) -> None:
    """Write down which queues this run has made.

    Raises:
        ApiError: it may not be written.
    """
    made = [item.ref for item in run.result().outcomes if item.ref.kind == "Queue" and item.action is Action.CREATED]
    found = {ref.name: live["metadata"]["uid"] for ref in made if (live := run.cluster.get(ref))}
    if found:
        put(run.cluster, MADE, found)


def settle_queues(run: Engine, asked: SchedulingSettings, version: str) -> None:
    """Open and close queues, and remove those that are to be absent and have become empty, with Volcano `version`.

    In check mode it is only noted. A queue with jobs in it is waited for, `asked.drain_seconds` at most, and then
    warned of: it stays closed, and the next run goes on.
    """
    if not asked.queues:
        return
    try:
        live = read_queues(run.cluster)
        states = wanted_states(asked.queues)
        for name, state in moves(live, states, {str(item["name"]): item for item in asked.queues}):
            if run.lost.is_set() or not move(run, live.get(name) or shown_queue(name), state, version):
                return
        uids = {
            name: live[name]["metadata"]["uid"]
            for name, state in states.items()
            if state is QueueState.ABSENT and name in live
        }
        if uids:
            drain(run, uids, asked.drain_seconds, version)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _unremovable(
    cluster: Cluster, live: Mapping[str, Object], asked: Mapping[str, Object], gone: list[str]
) -> Iterator[Problem]:
    made = (cluster.get(MADE) or {}).get("data") or {}
    above = {name: _parent(asked.get(name, {})) or _parent(obj) for name, obj in live.items()}
    users = cluster.list("v1", "Namespace", brief=True).items
    for name in gone:
        if made.get(name) != live[name]["metadata"]["uid"]:
            yield Problem(
                f"volcano_queues: queue {name} is to be absent, and {MADE} does not say that a roll-out made it.",
                "a queue that was made here: no other one is deleted.",
                f"write state: closed, and when it is empty: kubectl delete queues.scheduling.volcano.sh {name}.",
            )
        if staying := sorted(other for other, parent in above.items() if parent == name and other not in gone):
            yield Problem(
                f"volcano_queues: queue {name} is to be absent, and {', '.join(staying)} is part of it.",
                "a queue that no other one is part of.",
                f"give {', '.join(staying)} another parent, or state: absent as well.",
            )
        spaces = [
            item["metadata"]["name"]
            for item in users
            if (item["metadata"].get("annotations") or {}).get(_QUEUE_OF_NAMESPACE) == name
        ]
        if spaces:
            yield Problem(
                f"volcano_queues: queue {name} is to be absent, and takes the jobs of namespace {', '.join(spaces)}.",
                f"no namespace with the annotation {_QUEUE_OF_NAMESPACE}: {name}; its jobs would wait for ever.",
                "take the annotation away, or give it another queue.",
            )


def _parent(queue: Object) -> str:
    """What it is a part of; empty where nothing is said of that."""
    return str((queue.get("spec") or {}).get("parent") or "")


def _unchangeable(live: Mapping[str, Object], asked: Mapping[str, Object]) -> Iterator[Problem]:
    for name, obj in asked.items():
        if name not in live or state_of(live[name]) in {"Open", "Closed"}:
            continue
        if not is_up_to_date(normalize(obj), live[name], MANAGER):
            yield Problem(
                f"volcano_queues: fields of queue {name} are to change while it is {state_of(live[name])}.",
                "a queue that is open, or closed and empty: Volcano's webhook takes no change of another one.",
                "leave its fields as they were until its jobs have ended (explain job and vcctl queue tell of them), "
                "and open it in a run of its own where it is to take jobs again.",
            )
