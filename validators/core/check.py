"""A check: one claim about a cluster, what it needs, and the function that judges it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity
from validators.core.rights import Rule

__all__ = ["FAMILIES", "LAST", "Check", "check", "natural"]

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

LAST = "run"
"""As the probe of a check: it judges the run itself, after all others."""


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
