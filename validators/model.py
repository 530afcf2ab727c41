"""What a check is and what it may answer. Knows nothing of clusters, probes or reports."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kubeflow_volcano.cluster.objects import Ref

if TYPE_CHECKING:
    from validators.facts import Facts

__all__ = [
    "BACKENDS",
    "HOMES",
    "LAST",
    "CannotJudgeError",
    "Check",
    "Outcome",
    "Rule",
    "Severity",
    "Status",
    "check",
    "errored",
    "failed",
    "natural",
    "passed",
    "skipped",
    "warned",
]

FAMILIES: Mapping[str, str] = {
    "A": "reach",
    "B": "machinery",
    "C": "workloads",
    "D": "storage",
    "E": "network",
    "F": "volcano",
    "G": "operator",
    "H": "gang",
    "I": "meta",
    "P": "preflight",
}
"""Family letter of a check id to the name under which people select it."""

BACKENDS = "the namespaces of webhook backends"
"""Stands in a rule for the namespaces from which the chosen components answer the API server's webhooks."""

HOMES = "the namespaces of the release"
"""Stands in a rule for the namespaces of the chosen components; kube-system is not theirs."""

LAST = "run"
"""As the probe of a check: it judges the run itself, after all others."""


class Status(StrEnum):
    """Verdict of one check."""

    PASS = "pass"  # noqa: S105  a verdict, not a password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """Does not apply, or follows from another check that failed; always says why."""
    ERROR = "error"
    """Could not be judged; never counts as pass."""


class Severity(StrEnum):
    """What a failure of a check means for the run."""

    BLOCKER = "blocker"
    """Gates the run: it must have been evaluated."""
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that the caller must be allowed to do, in the words of RBAC; the core group is empty.

    `namespace` is where, when that is known beforehand, or `BACKENDS` or `HOMES`. Without one it is everywhere, but for
    what a probe or a dry run does: that is needed in the namespace of probes, where there is one.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""

    @property
    def plural_group(self) -> str:
        """The resource as one word, such as jobs.batch; the key of what is read."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        return f"{self.verb} {self.plural_group}" + (f" in {self.namespace}" if self.namespace else "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found. `reason` is a stable CamelCase word for machines, `message` a sentence for people.

    `because` names the checks that own the cause of a fail or an error: where all of them failed in the same run,
    this outcome is reported as skip, so that one cause does not fail five checks.
    `evidence` maps a file name to the text that is kept beside the report (logs, listings).
    """

    status: Status
    reason: str
    message: str
    expected: str = ""
    observed: Mapping[str, Any] = field(default_factory=dict)
    objects: tuple[Ref, ...] = ()
    todo: str = ""
    commands: tuple[str, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    because: tuple[str, ...] = ()


def passed(message: str, *, objects: Sequence[Ref], observed: Mapping[str, Any] | None = None) -> Outcome:
    """The claim holds for these objects.

    Raises:
        ValueError: there is no object; a pass on an empty set proves nothing.
    """
    if not objects:
        raise ValueError(f"a pass must name what it looked at: {message}")
    return Outcome(Status.PASS, "AsClaimed", message, observed=observed or {}, objects=tuple(objects))


def _negative(status: Status) -> Callable[..., Outcome]:
    def make(
        reason: str,
        message: str,
        *,
        todo: str,
        expected: str = "",
        observed: Mapping[str, Any] | None = None,
        objects: Sequence[Ref] = (),
        commands: Sequence[str] = (),
        evidence: Mapping[str, str] | None = None,
        because: Sequence[str] = (),
    ) -> Outcome:
        return Outcome(
            status,
            reason,
            message,
            expected,
            observed or {},
            tuple(objects),
            todo,
            tuple(commands),
            evidence or {},
            tuple(because),
        )

    return make


warned = _negative(Status.WARN)
"""warned(reason, message, *, todo, expected, observed, objects, commands, evidence): works, but needs attention."""
failed = _negative(Status.FAIL)
"""failed(reason, message, *, todo, ... , because): the claim does not hold."""
errored = _negative(Status.ERROR)
"""errored(reason, message, *, todo, ... , because): could not be judged."""


def skipped(reason: str, message: str, *, objects: Sequence[Ref] = ()) -> Outcome:
    """The check does not apply; the message says why."""
    return Outcome(Status.SKIP, reason, message, objects=tuple(objects))


class CannotJudgeError(Exception):
    """Raised inside a judge when a fact is missing; carries the outcome that the check then has."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about a cluster. Call it with facts to judge them; `judge` does no I/O."""

    id: str
    slug: str
    title: str
    remedy: str
    severity: Severity
    judge: Callable[[Facts], Outcome]
    requires: tuple[str, ...] = ()
    """Ids of checks without which this one says nothing: where one of them failed, this one is skipped."""
    needs: tuple[Rule, ...] = ()
    """What the caller must be allowed to do. Rules with the verb `list` are also what is read."""
    probe: str = ""
    """Name of the probe whose evidence is judged."""
    component: str = ""
    """Without this component there is nothing to judge, so that nobody needs the rights for it."""
    opt_in: str = ""
    """Name of the option that has to be on; otherwise the check is skipped, as it costs or touches more than others."""
    needs_with: tuple[tuple[str, Rule], ...] = ()
    """Rights that are needed besides where the release expects a CRD, each with the CRD's name."""

    def rules(self, crds: Collection[str]) -> tuple[Rule, ...]:
        """What the caller must be allowed to do where a release expects these CRDs."""
        return (*self.needs, *(rule for crd, rule in self.needs_with if crd in crds))

    @property
    def family(self) -> str:
        """Readable name of the check's family."""
        return FAMILIES[self.id[0]]

    def __call__(self, facts: Facts) -> Outcome:
        """Judge the facts."""
        return self.judge(facts)


def check(
    id_: str,
    slug: str,
    *,
    severity: Severity,
    requires: Sequence[str] = (),
    needs: Sequence[Rule] = (),
    probe: str = "",
    component: str = "",
    opt_in: str = "",
    needs_with: Sequence[tuple[str, Rule]] = (),
) -> Callable[[Callable[[Facts], Outcome]], Check]:
    """Make a check of a function of facts; its docstring is the claim (first line) and the remedy (the rest)."""

    def make(judge: Callable[[Facts], Outcome]) -> Check:
        title, _, remedy = inspect.cleandoc(judge.__doc__ or "").partition("\n")
        if not (title and remedy.strip()):
            raise ValueError(f"check {id_} needs a claim and a remedy in its docstring")
        return Check(
            id_,
            slug,
            title.rstrip("."),
            remedy.strip(),
            severity,
            judge,
            tuple(requires),
            tuple(needs),
            probe,
            component,
            opt_in,
            tuple(needs_with),
        )

    return make


def natural(id_: str) -> tuple[str, int]:
    """Sort key of check ids: C2 before C10."""
    match = re.fullmatch(r"([A-Z])(\d+)", id_)
    if not match:
        raise ValueError(f"not a check id: {id_}")
    return match[1], int(match[2])
