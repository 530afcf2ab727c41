"""One cause, one failure: a consequence of another check's failure is reported as skip and names that check.

Which check that is need not be known to the one that sees the symptom: it names the objects that its trouble may come
from (the node of a pod, the webhooks that intercept a PodGroup), and any check that finds one of them broken explains
it. Where two checks speak of the same experiment, or of the same object, the id of the other is the cause.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.outcome import Cause, Outcome, Status, passed, skipped

REASON = "ConsequenceOf"

NOT_NEEDED = "NotNeeded"
"""Reason of a skip that does not block dependent checks: the gang scheduler in use has no such part."""

_WEIGHT = {Status.WARN: 1, Status.ERROR: 2, Status.FAIL: 2}


def blocked_by(check: Check, outcomes: Mapping[str, Outcome], waived: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of the required checks that were evaluated and do not hold; a waived one does not block."""
    return tuple(
        id_
        for id_ in check.requires
        if id_ not in waived and id_ in outcomes and _weight(outcomes[id_]) == _WEIGHT[Status.FAIL]
    )


def blocked(by: tuple[str, ...], outcomes: Mapping[str, Outcome]) -> Outcome:
    """The outcome of a check that is skipped because of others."""
    roots = tuple(dict.fromkeys(root for id_ in by for root in _roots(id_, outcomes)))
    causes = " ".join(f"{id_}: {outcomes[id_].message}" for id_ in roots)
    return replace(skipped(REASON, f"skipped because of {causes}"), because=roots)


def not_applicable(check: Check, outcomes: Mapping[str, Outcome], waived: Mapping[str, str]) -> Outcome | None:
    """A skip where a required check was skipped because it does not apply; None where none was."""
    for id_ in check.requires:
        outcome = outcomes.get(id_)
        if (
            id_ not in waived
            and outcome
            and outcome.status is Status.SKIP
            and outcome.reason not in {REASON, NOT_NEEDED}
        ):
            return skipped(outcome.reason, outcome.message)
    return None


def follow(outcomes: Mapping[str, Outcome], waived: Collection[str] = ()) -> dict[str, Outcome]:
    """The outcomes, as pass where an experiment refutes them, and as skip where other checks found every cause.

    It starts from the failures without a further cause, so that a circle of causes hides no failure. What is waived
    explains nothing: who accepts an absent object has not accepted what it breaks.
    """
    followed = {id_: _unless_refuted(item, outcomes) for id_, item in outcomes.items()}
    standing = {id_: item for id_, item in followed.items() if _weight(item) and id_ not in waived}
    owned = {id_: item for id_, item in standing.items() if _owners(id_, standing, standing) is None}
    while True:
        following = {
            id_: owners
            for id_ in standing
            if id_ not in owned and (owners := _owners(id_, standing, owned)) is not None
        }
        if not following:
            return followed
        owned |= {id_: standing[id_] for id_ in following}
        followed |= {
            id_: _demoted(standing[id_], owners) for id_, owners in following.items() if standing[id_].reason != REASON
        }


def _unless_refuted(outcome: Outcome, outcomes: Mapping[str, Outcome]) -> Outcome:
    contrary = [id_ for id_ in outcome.refuted_by if id_ in outcomes and outcomes[id_].status is Status.PASS]
    if not contrary or not _weight(outcome):
        return outcome
    return passed(
        f"{contrary[0]} shows by experiment that this causes no trouble: {outcome.message}",
        objects=outcome.objects,
        observed=outcome.observed,
    )


def _owners(id_: str, standing: Mapping[str, Outcome], among: Mapping[str, Outcome]) -> tuple[str, ...] | None:
    """Ids of the checks that found every cause of this outcome; None if one of its causes was not found.

    A failure is not explained by a mere warning.
    """
    outcome = standing[id_]
    grave = {other: item for other, item in among.items() if other != id_ and _weight(item) >= _weight(outcome)}
    found = [_found(cause, grave) for cause in outcome.because]
    return tuple(dict.fromkeys(owner for owners in found for owner in owners)) if found and all(found) else None


def _found(cause: Cause, outcomes: Mapping[str, Outcome]) -> list[str]:
    if isinstance(cause, str):
        return [cause] if cause in outcomes else []
    return [
        id_
        for id_, item in outcomes.items()
        # What could not be evaluated is no finding about the objects that it names.
        if item.status is not Status.ERROR and not cause.isdisjoint((*item.objects, *item.breaks))
    ]


def _weight(outcome: Outcome) -> int:
    return _WEIGHT[Status.FAIL] if outcome.reason == REASON else _WEIGHT.get(outcome.status, 0)


def _roots(id_: str, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    outcome = outcomes[id_]
    if outcome.reason != REASON:
        return (id_,)
    return tuple(root for cause in outcome.because if isinstance(cause, str) for root in _roots(cause, outcomes))


def _demoted(outcome: Outcome, owners: tuple[str, ...]) -> Outcome:
    message = f"consequence of {', '.join(owners)}: {outcome.message}"
    bare = replace(outcome, todo="", commands=(), changes=(), findings=())
    return replace(bare, status=Status.SKIP, reason=REASON, message=message, because=owners)
