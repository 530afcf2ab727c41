"""Objects that are not healthy, each with the one check that owns the cause.

A Deployment with a missing image shows as a bad pod, an unavailable Deployment and a component that is down. Exactly
one check reports it: the pod's (A6, C6, C7 or C8). The others name that check in `because`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Cause, Finding, Outcome, Status, failed, passed, skipped, warned

_MOST_SHOWN = 3
"""Issues whose message is quoted in full; the others are listed by name."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One object that is not healthy. `check` reports it; `because` holds its causes, as those of an outcome.

    `breaks` is what does not work while the object is as it is.
    """

    check: str
    status: Status
    ref: Ref
    reason: str
    message: str
    todo: str
    because: tuple[Cause, ...] = ()
    evidence: str = ""
    gravity: Status | None = None
    """Status that it would have if the release answered for the object; None where the release does."""
    breaks: tuple[Ref, ...] = ()
    changes: tuple[str, ...] = ()
    """Commands that remove the cause."""
    looks: tuple[str, ...] = ()
    """Commands that show more of it, beside a description of the object."""
    owner: str = ""
    """Whose the object is if it is not the release's, as a sentence; else empty."""


@lru_cache(maxsize=32)  # the kinds of one run; most checks go through all pods
def judged(facts: Facts, resource: str) -> Sequence[Object]:
    """The objects of a kind, without those of probes and those in ignored namespaces."""
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
    """Creation time in seconds since the epoch."""
    text: str = obj["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(text).timestamp()


def verdict(issues: Iterable[Issue], looked_at: Sequence[Ref], *, claim: str, expected: str) -> Outcome:
    """One outcome for all issues: the worst decides, and every failure is named.

    `claim` is the message of a pass, `expected` what a failure lacks. Without objects the check is skipped: an object
    that must exist is an issue itself when it is missing.
    """
    issues = tuple(issues)
    # What this check owns itself comes before what follows from others.
    worst = sorted(
        [item for item in issues if item.status is Status.FAIL] or issues, key=lambda item: bool(item.because)
    )
    if not worst:
        return (
            passed(claim, objects=looked_at)
            if looked_at
            else skipped("NoObjects", "there are no objects of this kind.")
        )
    make = failed if worst[0].status is Status.FAIL else warned
    findings = tuple(_findings(worst))
    caused = all(item.because for item in worst)
    return make(
        worst[0].reason,
        _describe(worst),
        expected=expected,
        observed={str(item.ref): item.reason for item in worst},
        objects=tuple(item.ref for item in worst),
        todo=_remedies(findings),
        commands=_commands(worst),
        changes=tuple(dict.fromkeys(command for item in findings for command in item.changes)),
        evidence={f"{item.ref.namespace}_{item.ref.name}.log": item.evidence for item in worst if item.evidence},
        because=tuple(dict.fromkeys(cause for item in worst for cause in item.because)) if caused else (),
        breaks=tuple(dict.fromkeys(ref for item in worst for ref in item.breaks)),
        findings=findings,
    )


def _findings(issues: Sequence[Issue]) -> Iterator[Finding]:
    """The issues with the same remedy as one, in the order of their first."""
    groups: dict[str, list[Issue]] = {}
    for item in issues:
        groups.setdefault(item.todo, []).append(item)
    for todo, items in groups.items():
        refs, texts, owners = zip(*((item.ref, item.message, item.owner) for item in items), strict=True)
        yield Finding(refs, texts, owners, todo, _commands(items), _changes(items))


def _commands(issues: Iterable[Issue]) -> tuple[str, ...]:
    there = (item for item in issues if item.reason != "Missing")
    return tuple(dict.fromkeys(command for item in there for command in (_look(item.ref), *item.looks)))


def _changes(issues: Iterable[Issue]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(command for item in issues for command in item.changes))


def _remedies(findings: Iterable[Finding]) -> str:
    """What to do; where that differs, each with the objects that it is for."""
    remedies = [item for item in findings if item.todo]
    if len(remedies) <= 1:
        return " ".join(item.todo for item in remedies)
    return " ".join(f"For {few([*map(str, item.objects)], _MOST_SHOWN)}: {item.todo}" for item in remedies)


def _describe(issues: Sequence[Issue]) -> str:
    more = len(issues) - _MOST_SHOWN
    rest = f" And {more} more: {', '.join(str(item.ref) for item in issues[_MOST_SHOWN:])}." if more > 0 else ""
    return " ".join(f"{item.message} {item.owner}".rstrip() for item in issues[:_MOST_SHOWN]) + rest


def _look(ref: Ref) -> str:
    where = f" -n {ref.namespace}" if ref.namespace else ""
    return f"kubectl{where} describe {ref.kind.lower()} {ref.name}"
