"""Reconciling Volcano's queues with the inventory: validate, record created queues, open, close and delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeflow_volcano.apply.compare import is_up_to_date
from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.normalize import normalize
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME, parent_queue
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.queues.drain import CREATED_QUEUES, drain
from kubeflow_volcano.rollout.queues.transitions import plan_transitions, transition_queue
from kubeflow_volcano.rollout.queues.view import list_queues, minimal_queue, state_of
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings
from kubeflow_volcano.rollout.state.store import write_keys
from kubeflow_volcano.text import counted


def validate_queues(cluster: Cluster, settings: SchedulingSettings, objects: Iterable[Object]) -> None:
    """Check that the declared queues can be reconciled; `objects` are the declared objects of Volcano.

    Raises:
        InvalidInput: a queue to delete was not created by a roll-out, or has children or namespaces that use it; or
            a queue to change is Closing.
        ApiError: the API server refused a request.
    """
    if not settings.queues:
        return
    live = list_queues(cluster)
    states = wanted_states(settings.queues)
    absent = [name for name, state in states.items() if state is QueueState.ABSENT and name in live]
    declared = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "Queue"}
    problems = [*_unchangeable(live, declared)]
    if absent:
        problems += _undeletable(cluster, live, declared, absent)
    if problems:
        raise InvalidInput(problems)


def record_created_queues(run: Engine) -> None:
    """Record the queues that this run created, with their UIDs; check mode creates none.

    Raises:
        ApiError: the ConfigMap cannot be written.
    """
    if run.check:
        return
    created = [item.ref for item in run.result().outcomes if item.ref.kind == "Queue" and item.action is Action.CREATED]
    uids = {ref.name: live["metadata"]["uid"] for ref in created if (live := run.cluster.get(ref))}
    if uids:
        write_keys(run.cluster, CREATED_QUEUES, uids)


def reconcile_queues(run: Engine, settings: SchedulingSettings, version: str) -> None:
    """Open and close queues, and delete drained queues with state: absent; `version` is Volcano's.

    Check mode only reports. Draining takes at most `settings.drain_seconds`: a queue that still has jobs then gets a
    warning and stays closed, and the next run continues.
    """
    if not settings.queues:
        return
    try:
        live = list_queues(run.cluster)
        states = wanted_states(settings.queues)
        for name, state in plan_transitions(live, states, {str(item["name"]): item for item in settings.queues}):
            if run.lost.is_set() or not transition_queue(run, live.get(name) or minimal_queue(name), state, version):
                return
        uids = {
            name: live[name]["metadata"]["uid"]
            for name, state in states.items()
            if state is QueueState.ABSENT and name in live
        }
        if uids:
            drain(run, uids, settings.drain_seconds, version)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))


def _undeletable(
    cluster: Cluster, live: Mapping[str, Object], declared: Mapping[str, Object], absent: list[str]
) -> Iterator[Problem]:
    created = (cluster.get(CREATED_QUEUES) or {}).get("data") or {}
    parents = {name: parent_queue(declared.get(name, {})) or parent_queue(obj) for name, obj in live.items()}
    every = cluster.list("v1", "Namespace", brief=True).items
    for name in absent:
        if created.get(name) != live[name]["metadata"]["uid"]:
            yield Problem(
                f"volcano_queues: queue {name} has state: absent, but {CREATED_QUEUES} does not list it.",
                "a queue that a roll-out created; others are never deleted.",
                f"set state: closed. Once it is empty, run kubectl delete queues.scheduling.volcano.sh {name}.",
            )
        if children := sorted(other for other, parent in parents.items() if parent == name and other not in absent):
            yield Problem(
                f"volcano_queues: queue {name} has state: absent, but is the parent of {', '.join(children)}.",
                "a queue without child queues.",
                f"give {', '.join(children)} another parent, or set state: absent there, too.",
            )
        namespaces = [
            item["metadata"]["name"]
            for item in every
            if (item["metadata"].get("annotations") or {}).get(QUEUE_NAME) == name
        ]
        if namespaces:
            yield Problem(
                f"volcano_queues: queue {name} has state: absent, but is the queue of "
                f"{counted(len(namespaces), 'namespace')}: {', '.join(namespaces)}.",
                f"no namespace with the annotation {QUEUE_NAME}: {name}; its jobs would stay Pending.",
                f"kubectl annotate namespace {' '.join(namespaces)} {QUEUE_NAME}-, or set another queue.",
            )


def _unchangeable(live: Mapping[str, Object], declared: Mapping[str, Object]) -> Iterator[Problem]:
    for name, obj in declared.items():
        if name not in live or state_of(live[name]) in {"Open", "Closed"}:
            continue
        if not is_up_to_date(normalize(obj), live[name]):
            yield Problem(
                f"volcano_queues: fields of queue {name} differ while it is {state_of(live[name])}.",
                "a queue that is Open or Closed: Volcano's webhook rejects changes in other states.",
                "restore its fields until its jobs have ended (kubectl get podgroups.scheduling.volcano.sh -A lists "
                "them). To reopen the queue, do so in a run of its own.",
            )
