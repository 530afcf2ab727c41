"""Objects that are not well, each with the one check that owns the cause.

A Deployment whose image does not exist shows as a bad pod, a Deployment that is not available and a component that is
down. Exactly one check says so: the pod's (A6, C6, C7 or C8). The others name it in `because`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Status, failed, passed, skipped, warned

__all__ = ["Trouble", "age", "created", "few", "judged", "verdict"]

_TOLD = 3  # troubles that are told in full; the others by name


@dataclass(frozen=True, slots=True)
class Trouble:
    """One object that is not well. `check` owns it; `because` names other checks that own what caused it."""

    check: str
    status: Status
    ref: Ref
    reason: str
    message: str
    todo: str
    because: tuple[str, ...] = ()
    evidence: str = ""


@lru_cache(maxsize=32)  # the kinds of one run; most checks go through all pods
def judged(facts: Facts, resource: str) -> Sequence[Object]:
    """The objects of a kind, without those of probes and those in namespaces that are not judged."""
    ignored = facts.ignored_namespaces
    return tuple(
        item
        for item in facts.all(resource)
        if item["metadata"].get("namespace") not in ignored and RUN_LABEL not in (item["metadata"].get("labels") or {})
    )


def age(obj: Object, facts: Facts) -> float:
    """Seconds since the object was created."""
    return facts.taken - created(obj)


def created(obj: Object) -> float:
    """When the object was created, in seconds since the epoch."""
    text: str = obj["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(text).timestamp()


def verdict(found: Iterable[Trouble], looked_at: Sequence[Ref], *, claim: str, expected: str) -> Outcome:
    """One outcome of all troubles: the worst decides; every failure is named.

    `claim` is the sentence of a pass; `expected` what a failure is held against. Nothing looked at is a skip: the
    objects that must exist are troubles when they are absent.
    """
    found = tuple(found)
    # What this check owns itself comes before what follows from others.
    worst = sorted([item for item in found if item.status is Status.FAIL] or found, key=lambda item: bool(item.because))
    if not worst:
        return passed(claim, objects=looked_at) if looked_at else skipped("NoObjects", "there are none to look at.")
    make = failed if worst[0].status is Status.FAIL else warned
    todos = tuple(dict.fromkeys(item.todo for item in worst))
    caused = all(item.because for item in worst)
    return make(
        worst[0].reason,
        _told(worst),
        expected=expected,
        observed={str(item.ref): item.reason for item in worst},
        objects=tuple(item.ref for item in worst),
        todo=" ".join(todos),
        commands=tuple(dict.fromkeys(_look(item.ref) for item in worst if item.reason != "Missing")),
        evidence={f"{item.ref.namespace}_{item.ref.name}.log": item.evidence for item in worst if item.evidence},
        because=tuple(dict.fromkeys(id_ for item in worst for id_ in item.because)) if caused else (),
    )


def few(texts: Sequence[str], most: int = 5) -> str:
    """The first of the texts, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def _told(found: Sequence[Trouble]) -> str:
    more = len(found) - _TOLD
    rest = f" And {more} more: {', '.join(str(item.ref) for item in found[_TOLD:])}." if more > 0 else ""
    return " ".join(item.message for item in found[:_TOLD]) + rest


def _look(ref: Ref) -> str:
    where = f" -n {ref.namespace}" if ref.namespace else ""
    return f"kubectl{where} describe {ref.kind.lower()} {ref.name}"
