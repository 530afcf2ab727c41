"""Which queues of the inventory are open, closed or absent.

Rules: a child of a closed queue accepts no jobs either. pkg/controllers/queue of Volcano v1.11.0 and later closes it
with its parent; with earlier versions this project closes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kubeflow_volcano.problems import Problem

_DEFAULT = "default"
"""The queue of jobs that name none. Volcano refuses to delete it, and its scheduler recreates it."""


class QueueState(StrEnum):
    """The desired state of a queue: it accepts jobs, it accepts none, or it does not exist."""

    OPEN = "open"
    CLOSED = "closed"
    ABSENT = "absent"


def wanted_states(queues: Sequence[Mapping[str, Any]]) -> dict[str, QueueState]:
    """State by queue, in the order of the inventory. Without `state` a queue is open, and closed below a closed one."""
    by_name = {str(item["name"]): item for item in queues}
    return {
        name: QueueState(item["state"])
        if "state" in item
        else QueueState.CLOSED
        if any(by_name[other].get("state") == QueueState.CLOSED for other in ancestors(name, by_name))
        else QueueState.OPEN
        for name, item in by_name.items()
    }


def ancestors(name: str, by_name: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The ancestors of a queue in the inventory, its parent first; each once, even in a cycle."""
    names: list[str] = []
    parent = str(by_name[name].get("parent"))
    while parent in by_name and parent not in names:
        names.append(parent)
        parent = str(by_name[parent].get("parent"))
    return names


def validate_states(queues: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """States that contradict each other, or that Volcano does not allow."""
    by_name = {str(item["name"]): item for item in queues}
    states = wanted_states(queues)
    if states.get(_DEFAULT) is QueueState.ABSENT:
        yield Problem(
            "volcano_queues: queue default is absent.",
            "the queue default: Volcano uses it for jobs that name no queue, and refuses to delete it.",
            "set state: closed, or remove the entry.",
        )
    for name, state in states.items():
        for other in ancestors(name, by_name):
            if state is not QueueState.ABSENT and states[other] is QueueState.ABSENT:
                yield Problem(
                    f"volcano_queues: queue {name} is below {other}, which is absent.",
                    "the ancestors of every queue that exists.",
                    f"set state: absent for {name}, too, or give it another parent.",
                )
            elif state is QueueState.OPEN and states[other] is QueueState.CLOSED:
                yield Problem(
                    f"volcano_queues: queue {name} is open and below {other}, which is closed.",
                    "open queues below open ones: Volcano closes the children of a closed queue.",
                    f"remove state from {name}, or open {other}.",
                )
