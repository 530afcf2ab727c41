"""A check: one claim about a cluster, what it reads, and the function that evaluates it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from kubeflow_volcano.validators.core.facts import Evidence, Fact, Facts, Probe, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Severity
from kubeflow_volcano.validators.core.resources import Resource
from kubeflow_volcano.validators.core.rights import Rule

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
    "J": "acceptance",
    "P": "preflight",
}
"""Family letter of a check id to the name under which people select it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about a cluster. Call it with facts to evaluate them; `judge` does no I/O."""

    id: str
    slug: str
    title: str
    remedy: str
    severity: Severity
    judge: Callable[[Facts], Outcome]
    requires: tuple[str, ...] = ()
    """Ids of checks that must hold first: this one is skipped when one of them fails."""
    reads: tuple[Read, ...] = ()
    """Kinds of objects and further facts that `judge` reads."""
    needs: tuple[Rule, ...] = ()
    """Further rules that the caller must be granted, where the probe acts."""
    probe: Evidence[Any] | None = None
    """The experiment, or other evidence, that has to exist before the check can be evaluated."""
    component: str = ""
    """The check applies only where this component is chosen; otherwise it needs no rights."""
    opt_in: str = ""
    """Name of the option that turns the check on, because it costs or touches more than others."""

    @property
    def resources(self) -> tuple[Resource, ...]:
        """Kinds of objects that the check, its facts and its probe read."""
        return tuple(item for item in self.everything if isinstance(item, Resource))

    @property
    def facts(self) -> tuple[Fact[Any], ...]:
        """Further facts that the check, these facts and its probe read."""
        return tuple(item for item in self.everything if isinstance(item, Fact))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules that the caller must be granted for any release."""
        return self._rules(self.everything)

    @property
    def demanded(self) -> tuple[Rule, ...]:
        """The rules without which it cannot be judged."""
        return self._rules(self.required)

    def _rules(self, reads: Iterable[Read]) -> tuple[Rule, ...]:
        acting = self.probe.needs if isinstance(self.probe, Probe) else ()
        return tuple(dict.fromkeys((*(rule for item in reads for rule in item.needs), *acting, *self.needs)))

    @property
    def rules_with(self) -> tuple[tuple[str, Rule], ...]:
        """Rules that the caller must be granted where the release expects a CRD, each with the CRD's name."""
        return tuple(pair for fact in self.facts for pair in fact.needs_with)

    def rules_for(self, crds: Iterable[str]) -> Iterator[Rule]:
        """Rules that the caller must be granted where these CRDs are expected, given by name."""
        crds = set(crds)
        yield from (rule for crd, rule in self.rules_with if crd in crds)
        if self.lists_kinds:
            for name in sorted(crds):
                plural, _, group = name.partition(".")
                yield Rule("list", group, plural)

    @property
    def lists_kinds(self) -> bool:
        """Whether the objects of each expected CRD are listed."""
        return any(fact.lists_kinds for fact in self.facts)

    @property
    def everything(self) -> tuple[Read, ...]:
        """All that is read before the check is evaluated; a fact follows what it reads itself."""
        return closure(self._reads)

    @property
    def required(self) -> tuple[Read, ...]:
        """What the check cannot be judged without: facts that only add detail are left out, with what they read."""
        return closure(self._reads, details=False)

    @property
    def _reads(self) -> tuple[Read, ...]:
        return (*self.reads, *(self.probe.reads if isinstance(self.probe, Probe) else ()))

    @property
    def family(self) -> str:
        """Readable name of the check's family."""
        return FAMILIES[self.id[0]]

    def __call__(self, facts: Facts) -> Outcome:
        """Evaluate the check on these facts."""
        return self.judge(facts)


def closure(reads: Iterable[Read], *, details: bool = True) -> tuple[Read, ...]:
    """These, and what the facts among them read, before each; without `details` none that only enriches."""
    found: dict[Read, None] = {}

    def add(item: Read) -> None:
        if isinstance(item, Fact) and item.enriches and not details:
            return
        for read in item.reads if isinstance(item, Fact) else ():
            add(read)
        found.setdefault(item)

    for item in reads:
        add(item)
    return tuple(found)


def check(
    id_: str,
    slug: str,
    *,
    severity: Severity,
    requires: Sequence[str] = (),
    reads: Sequence[Read] = (),
    needs: Sequence[Rule] = (),
    probe: Evidence[Any] | None = None,
    component: str = "",
    opt_in: str = "",
) -> Callable[[Callable[[Facts], Outcome]], Check]:
    """Make a check of a function of facts. Its docstring holds the claim (first line) and the remedy (the rest)."""

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
            requires=tuple(requires),
            reads=tuple(reads),
            needs=tuple(needs),
            probe=probe,
            component=component,
            opt_in=opt_in,
        )

    return make


def natural(id_: str) -> tuple[str, int]:
    """Sort key of check ids: C2 before C10."""
    match = re.fullmatch(r"([A-Z])(\d+)", id_)
    if not match:
        raise ValueError(f"not a check id: {id_}")
    return match[1], int(match[2])


def checks_in(modules: Iterable[ModuleType]) -> tuple[Check, ...]:
    """The checks that these modules have, by id."""
    found = dict.fromkeys(item for module in modules for item in vars(module).values() if isinstance(item, Check))
    return tuple(sorted(found, key=lambda item: natural(item.id)))


def checks_below(package: str, path: Iterable[str]) -> tuple[Check, ...]:
    """Every check of a package with that path, by id."""
    return checks_in(import_module(item.name) for item in walk_packages(path, f"{package}."))
