"""One cause, one failure: a consequence of another check's failure is reported as skip and names that check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from validators.core.check import Check
from validators.core.outcome import Outcome, Status, skipped

__all__ = ["NOT_NEEDED", "REASON", "blocked", "blocked_by", "follow", "not_applicable"]

REASON = "ConsequenceOf"

NOT_NEEDED = "NotNeeded"
"""Reason of a skip that does not block dependent checks: the gang scheduler in use has no such part."""

# A failure is not explained by a mere warning.
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
        found = outcomes.get(id_)
        if id_ not in waived and found and found.status is Status.SKIP and found.reason not in {REASON, NOT_NEEDED}:
            return skipped(found.reason, found.message)
    return None


def follow(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """The outcomes, as skip where every cause belongs to checks that were evaluated and do not hold.

    It starts from the failures without a further cause, so that a circle of causes hides no failure.
    """
    followed = dict(outcomes)
    owned = {id_ for id_, outcome in outcomes.items() if _weight(outcome) and not _explainable(outcome, outcomes)}
    while True:
        following = [
            id_
            for id_, item in outcomes.items()
            if id_ not in owned and item.because and owned.issuperset(item.because)
        ]
        if not following:
            return followed
        owned.update(following)
        followed |= {id_: _demoted(outcomes[id_]) for id_ in following if outcomes[id_].reason != REASON}


def _weight(outcome: Outcome) -> int:
    return _WEIGHT[Status.FAIL] if outcome.reason == REASON else _WEIGHT.get(outcome.status, 0)


def _explainable(outcome: Outcome, outcomes: Mapping[str, Outcome]) -> bool:
    return bool(outcome.because) and all(
        id_ in outcomes and _weight(outcomes[id_]) >= _weight(outcome) for id_ in outcome.because
    )


def _roots(id_: str, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    outcome = outcomes[id_]
    if outcome.reason != REASON:
        return (id_,)
    return tuple(root for cause in outcome.because for root in _roots(cause, outcomes))


def _demoted(outcome: Outcome) -> Outcome:
    message = f"consequence of {', '.join(outcome.because)}: {outcome.message}"
    return replace(outcome, status=Status.SKIP, reason=REASON, message=message, todo="", commands=())
