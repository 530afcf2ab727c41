"""Judges a claim on every host and joins hosts with the same finding, so that fifty hosts are not fifty lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.hosts.facts import CannotLookError, Host, HostFacts
from kubeflow_volcano.ref import Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Outcome, Status, errored, failed, passed, skipped, warned

_WORST = (Status.FAIL, Status.ERROR, Status.WARN)
_MOST_NAMES, _MOST_ROWS, _MOST_COMMANDS = 5, 4, 6


@dataclass(frozen=True)
class Finding:
    """What one host shows. Hosts with the same `text` are joined; `detail` is what differs between them.

    `commands` only look; `changes` change the host. `repairs` are arguments of the module kfv_host_repair that resolve
    it.
    """

    status: Status
    text: str
    reason: str = "AsClaimed"
    detail: str = ""
    todo: str = ""
    commands: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    repairs: tuple[Mapping[str, str], ...] = ()


def passing(text: str, detail: str = "") -> Finding:
    """The claim holds for this host."""
    return Finding(Status.PASS, text, detail=detail)


def failing(reason: str, text: str, *, todo: str, **rest: Any) -> Finding:
    """The claim does not hold for this host."""
    return Finding(Status.FAIL, text, reason, todo=todo, **rest)


def warning(reason: str, text: str, *, todo: str, **rest: Any) -> Finding:
    """The host works, but needs attention."""
    return Finding(Status.WARN, text, reason, todo=todo, **rest)


def unjudged(text: str, *, todo: str = "") -> Finding:
    """The claim cannot be judged for this host."""
    return Finding(Status.ERROR, text, "NotLookedAt", todo=todo)


@dataclass
class _Row:
    """Hosts with the same finding, each as its name and its detail."""

    finding: Finding
    hosts: list[tuple[str, str]] = field(default_factory=list)

    def describe(self, total: int) -> str:
        names = [f"{name} ({detail})" if detail else name for name, detail in self.hosts]
        if len(names) == total > _MOST_NAMES and not any(detail for _, detail in self.hosts):
            return f"{self.finding.text}: all {total} hosts"
        return f"{self.finding.text}: {few(names)}"


def inventory_of(facts: Facts) -> Inventory:
    """The hosts of a preflight's facts."""
    if facts.inventory is None:
        raise ValueError("there are no hosts in these facts")
    return facts.inventory


def host_ref(name: str) -> Ref:
    """A host among the objects of a finding."""
    return Ref("", "Host", "", name)


def no_hosts(inventory: Inventory) -> Outcome:
    """Skipped, because no host answered."""
    return skipped("NoHosts", "no host answered; P1 to P3 say why." if inventory.hosts else "there are no hosts.")


def judge_hosts(
    facts: Facts,
    look: Callable[[Host, HostFacts], Iterable[Finding]],
    *,
    expected: str,
    holds: str,
    among: Sequence[Host] | None = None,
) -> Outcome:
    """Judge the hosts that answered, or those of them in `among`; `holds` is the message where the claim holds.

    A host whose facts are incomplete is reported as not judged; the others are judged all the same.
    """
    inventory = inventory_of(facts)
    hosts = inventory.reached if among is None else tuple(among)
    if not inventory.reached:
        return no_hosts(inventory)
    if not hosts:
        return skipped("NotExpected", "this applies to none of the hosts.")
    rows = _rows(hosts, look)
    observed = {"findings": [_observed(row) for row in rows], "judged": len(hosts)}
    worst = next((status for status in _WORST if any(row.finding.status is status for row in rows)), Status.PASS)
    if worst is Status.PASS:
        message = f"{holds} ({counted(len(hosts), 'host')})."
        return passed(message, objects=[host_ref(host.name) for host in hosts], observed=observed)
    notable = sorted(
        (row for row in rows if row.finding.status in _WORST), key=lambda row: _WORST.index(row.finding.status)
    )
    leading = [row for row in notable if row.finding.status is worst]
    make = {Status.FAIL: failed, Status.ERROR: errored, Status.WARN: warned}[worst]
    return make(
        leading[0].finding.reason,
        few([row.describe(len(hosts)) for row in notable], _MOST_ROWS, "; ", "finding") + ".",
        expected=expected,
        observed=observed,
        objects=[host_ref(name) for name in dict.fromkeys(name for row in leading for name, _ in row.hosts)],
        todo=" ".join(dict.fromkeys(row.finding.todo for row in notable if row.finding.todo)),
        commands=tuple(dict.fromkeys(text for row in notable for text in row.finding.commands))[:_MOST_COMMANDS],
        changes=tuple(dict.fromkeys(text for row in notable for text in row.finding.changes))[:_MOST_COMMANDS],
    )


def _rows(hosts: Iterable[Host], look: Callable[[Host, HostFacts], Iterable[Finding]]) -> list[_Row]:
    rows: dict[tuple[Status, str], _Row] = {}
    for host in hosts:
        for finding in _findings(host, look):
            row = rows.setdefault((finding.status, finding.text), _Row(finding))
            row.hosts.append((host.name, finding.detail))
    return list(rows.values())


def _findings(host: Host, look: Callable[[Host, HostFacts], Iterable[Finding]]) -> list[Finding]:
    if host.facts is None:
        return []
    try:
        return list(look(host, host.facts))
    except (CannotLookError, ValueError) as error:  # ValueError: a malformed version or address
        return [unjudged(f"could not be examined ({error})", todo="find the cause on the host, and run again.")]


def _observed(row: _Row) -> dict[str, Any]:
    found = {
        "hosts": [name for name, _ in row.hosts],
        "status": str(row.finding.status),
        "found": row.finding.text,
        "details": {name: detail for name, detail in row.hosts if detail},
        "repairs": [dict(item) for item in row.finding.repairs],
    }
    return {key: value for key, value in found.items() if value}
