"""Verdict, coverage and exit code of a run, from the outcomes of its checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from kubeflow_volcano.problems import Exit
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status

# DESIGN, section 8: worst first.
_ORDER = (
    Exit.INTERRUPTED,
    Exit.TERMINATED,
    Exit.INVALID_INPUT,
    Exit.BUSY,
    Exit.REPORT_NOT_WRITTEN,
    Exit.CHECK_FAILED,
    Exit.INCOMPLETE,
    Exit.LEFTOVERS,
    Exit.WARNINGS,
    Exit.OK,
)


class Verdict(StrEnum):
    """Of a run."""

    PASS = "pass"  # noqa: S105  a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    """Nothing failed, but a blocker could not be evaluated, or no check was."""


@dataclass(frozen=True, slots=True)
class Result:
    """One check of a run. `started` is in seconds since the epoch; `waived` is the outcome that a waiver replaced."""

    check: Check
    outcome: Outcome
    started: float
    seconds: float
    waived: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of a run; coverage is the share of applicable checks that were evaluated, from 0 to 1."""

    verdict: Verdict
    planned: int
    evaluated: int
    counts: dict[Status, int]
    coverage: float
    skipped: dict[str, int] = field(default_factory=dict)
    """How many checks were skipped, by reason."""
    unevaluated: dict[str, str] = field(default_factory=dict)
    """Why a check could not be evaluated, by its id."""

    def exit_code(self, *, strict: bool) -> Exit:
        """Exit code of the verdict."""
        codes = {
            Verdict.PASS: Exit.OK,
            Verdict.WARN: Exit.WARNINGS if strict else Exit.OK,
            Verdict.FAIL: Exit.CHECK_FAILED,
            Verdict.INCOMPLETE: Exit.INCOMPLETE,
        }
        return codes[self.verdict]


def summarise(results: Iterable[Result]) -> Summary:
    """Counts and verdict. A run passes only if every applicable blocker, and at least one check, was evaluated."""
    results = tuple(results)
    counts = {status: sum(item.outcome.status is status for item in results) for status in Status}
    evaluated = counts[Status.PASS] + counts[Status.WARN] + counts[Status.FAIL]
    applicable = len(results) - counts[Status.SKIP]
    unjudged = any(item.outcome.status is Status.ERROR and item.check.severity is Severity.BLOCKER for item in results)
    if counts[Status.FAIL]:
        verdict = Verdict.FAIL
    elif unjudged or not evaluated:
        verdict = Verdict.INCOMPLETE
    elif counts[Status.WARN] or counts[Status.ERROR]:
        verdict = Verdict.WARN
    else:
        verdict = Verdict.PASS
    return Summary(
        verdict,
        len(results),
        evaluated,
        counts,
        evaluated / applicable if applicable else 0.0,
        dict(sorted(Counter(item.outcome.reason for item in results if item.outcome.status is Status.SKIP).items())),
        {item.check.id: item.outcome.reason for item in results if item.outcome.status is Status.ERROR},
    )


def worst(codes: Iterable[Exit]) -> Exit:
    """The worst of several exit codes."""
    return min(codes, key=_ORDER.index)
