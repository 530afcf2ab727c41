"""Which queues of the inventory are open, closed, or absent. Pure.

Rules: a queue below a closed one takes no jobs either (pkg/controllers/queue of Volcano v1.11.0 and later closes it
with that one; earlier versions leave that to whoever closes them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kubeflow_volcano.problems import Problem

__all__ = ["QueueState", "above", "strange_states", "wanted_states"]

_DEFAULT = "default"
"""The queue of jobs that name none; Volcano refuses to delete it, and its scheduler makes it anew."""


class QueueState(StrEnum):
    """What the inventory says of a queue: whether it takes new jobs, or is not to be there at all."""

    OPEN = "open"
    CLOSED = "closed"
    ABSENT = "absent"


def wanted_states(queues: Sequence[Mapping[str, Any]]) -> dict[str, QueueState]:
    """State by queue, in the order of the inventory; one of which nothing is said is closed below a closed one."""
    by_name = {str(item["name"]): item for item in queues}
    return {
        name: QueueState(item["state"])
        if "state" in item
        else QueueState.CLOSED
        if any(by_name[other].get("state") == QueueState.CLOSED for other in above(name, by_name))
        else QueueState.OPEN
        for name, item in by_name.items()
    }


def above(name: str, by_name: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The queues of the inventory that a queue is a part of, the nearest first; in a circle each once."""
    found: list[str] = []
    parent = str(by_name[name].get("parent"))
    while parent in by_name and parent not in found:
        found.append(parent)
        parent = str(by_name[parent].get("parent"))
    return found


def strange_states(queues: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """States that do not go together, or that Volcano does not grant."""
    by_name = {str(item["name"]): item for item in queues}
    states = wanted_states(queues)
    if states.get(_DEFAULT) is QueueState.ABSENT:
        yield Problem(
            "volcano_queues: queue default is absent.",
            "default to stay: Volcano puts jobs that name no queue there, and refuses to delete it.",
            "write state: closed, or remove the entry.",
        )
    for name, state in states.items():
        for other in above(name, by_name):
            if state is not QueueState.ABSENT and states[other] is QueueState.ABSENT:
                yield Problem(
                    f"volcano_queues: queue {name} is a part of {other}, which is absent.",
                    "a queue that goes only with all that is part of it.",
                    f"make {name} absent as well, or give it another parent.",
                )
            elif state is QueueState.OPEN and states[other] is QueueState.CLOSED:
                yield Problem(
                    f"volcano_queues: queue {name} is open and a part of {other}, which is closed.",
                    "open queues below open ones: Volcano closes what is part of a closed one.",
                    f"leave state out of {name}, or open {other}.",
                )
