"""The outcome of a check: a status, a reason, a message and a remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kubeflow_volcano.cluster.objects import Ref

Cause = str | frozenset[Ref]
"""Where the trouble of an outcome may come from: the check of this id does not hold; or a check does not hold that
names one of these objects, whichever check that is."""


class Status(StrEnum):
    """Status of one check."""

    PASS = "pass"  # noqa: S105  a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """Does not apply, or is a consequence of another check that failed; the message says why."""
    ERROR = "error"
    """Could not be evaluated; never counts as pass."""


class Severity(StrEnum):
    """How serious a failure of a check is for the run."""

    BLOCKER = "blocker"
    """Must be evaluated for the run to pass."""
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """Objects with one remedy: what was found at each, in their order, and what to do about all of them.

    `owners` says whose each is if it is not the release's, as a sentence; else it is empty.
    """

    objects: tuple[Ref, ...]
    found: tuple[str, ...]
    owners: tuple[str, ...]
    todo: str
    commands: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found. `reason` is a stable CamelCase word for programs, `message` a sentence for people.

    `because` holds one cause for each trouble of a fail, an error or a warning: if all of them were found in the same
    run, this outcome is reported as skip, so that one cause does not fail five checks. What a check found is its
    `objects`, and `breaks` besides: what does not work while these objects are as they are.
    `refuted_by` names checks that find out by experiment what this outcome only infers: it passes if one of them does.
    `commands` only look; `changes` change the cluster or a host, and done as they are, they remove the cause.
    `evidence` maps a file name to text that is written beside the report (logs, listings).
    `findings` are message, todo, commands and changes once more, object by object, where several remedies differ.
    """

    status: Status
    reason: str
    message: str
    expected: str = ""
    observed: Mapping[str, Any] = field(default_factory=dict)
    objects: tuple[Ref, ...] = ()
    todo: str = ""
    commands: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    because: tuple[Cause, ...] = ()
    breaks: tuple[Ref, ...] = ()
    refuted_by: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def passed(message: str, *, objects: Sequence[Ref], observed: Mapping[str, Any] | None = None) -> Outcome:
    """The claim holds for these objects.

    Raises:
        ValueError: there are no objects; a pass on an empty set proves nothing.
    """
    if not objects:
        raise ValueError(f"a pass must name the objects it evaluated: {message}")
    return Outcome(Status.PASS, "AsClaimed", message, observed=observed or {}, objects=tuple(objects))


def _negative(status: Status) -> Callable[..., Outcome]:
    def make(reason: str, message: str, *, todo: str, expected: str = "", **more: Any) -> Outcome:
        given: dict[str, Any] = {
            key: value if isinstance(value, Mapping) else tuple(value) for key, value in more.items() if value
        }
        return Outcome(status, reason, message, expected, todo=todo, **given)

    return make


warned = _negative(Status.WARN)
"""warned(reason, message, *, todo, expected, observed, objects, commands, changes, evidence): works, but needs
attention."""
failed = _negative(Status.FAIL)
"""failed(reason, message, *, todo, ... , because, breaks, refuted_by): the claim does not hold."""
errored = _negative(Status.ERROR)
"""errored(reason, message, *, todo, ... , because): could not be evaluated."""


def skipped(reason: str, message: str, *, objects: Sequence[Ref] = ()) -> Outcome:
    """The check does not apply; the message says why."""
    return Outcome(Status.SKIP, reason, message, objects=tuple(objects))


class CannotJudgeError(Exception):
    """Raised while a check is evaluated without a fact that it needs; carries the outcome of the check."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome
