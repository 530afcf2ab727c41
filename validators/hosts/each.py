"""One claim held against every host: hosts with the same finding stand together, so that fifty are no fifty lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.hosts.facts import CannotLookError, Host, HostFacts
from kubeflow_volcano.ref import Ref
from validators.core.facts import Facts
from validators.core.inventory import Inventory
from validators.core.outcome import Outcome, Status, errored, failed, passed, skipped, warned

__all__ = ["Finding", "asked", "bad", "each", "good", "named", "ref", "worse"]

_WORST = (Status.FAIL, Status.ERROR, Status.WARN)
_MOST_NAMES, _MOST_ROWS, _MOST_COMMANDS = 5, 4, 6


@dataclass(frozen=True)
class Finding:
    """What one host shows. Hosts with the same `text` are told together; `detail` is what differs between them.

    `repairs` are what the module kfv_host_repair is asked to do about it.
    """

    status: Status
    text: str
    reason: str = "AsClaimed"
    detail: str = ""
    todo: str = ""
    commands: tuple[str, ...] = ()
    repairs: tuple[Mapping[str, str], ...] = ()


def good(text: str, detail: str = "") -> Finding:
    """The claim holds for this host."""
    return Finding(Status.PASS, text, detail=detail)


def bad(reason: str, text: str, *, todo: str, **rest: Any) -> Finding:
    """The claim does not hold for this host."""
    return Finding(Status.FAIL, text, reason, todo=todo, **rest)


def worse(reason: str, text: str, *, todo: str, **rest: Any) -> Finding:
    """Works on this host, but needs attention."""
    return Finding(Status.WARN, text, reason, todo=todo, **rest)


@dataclass
class _Row:
    finding: Finding
    hosts: list[tuple[str, str]] = field(default_factory=list)

    def told(self, total: int) -> str:
        names = [f"{name} ({detail})" if detail else name for name, detail in self.hosts]
        if len(names) == total > _MOST_NAMES and not any(detail for _, detail in self.hosts):
            return f"{self.finding.text}: all {total} hosts"
        return f"{self.finding.text}: {named(names)}"


def asked(facts: Facts) -> Inventory:
    """The hosts of a preflight's facts."""
    if facts.inventory is None:
        raise ValueError("there are no hosts in these facts")
    return facts.inventory


def ref(name: str) -> Ref:
    """How a host is named among a finding's objects."""
    return Ref("", "Host", "", name)


def named(names: Sequence[str]) -> str:
    """A few names, and how many more."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def each(
    facts: Facts,
    look: Callable[[Host, HostFacts], Iterable[Finding]],
    *,
    expected: str,
    holds: str,
    among: Sequence[Host] | None = None,
) -> Outcome:
    """Judge the hosts that answered, or those of them in `among`; `holds` is told where the claim holds everywhere.

    A host whose facts lack something is told as not judged; the others are judged all the same.
    """
    inventory = asked(facts)
    hosts = inventory.reached if among is None else tuple(among)
    if not inventory.reached:
        return skipped("NoHosts", "no host answered; P1 to P3 say why." if inventory.hosts else "there are no hosts.")
    if not hosts:
        return skipped("NotExpected", "there is no host that this is asked of.")
    rows = _rows(hosts, look)
    observed = {"findings": [_observed(row) for row in rows], "judged": len(hosts)}
    worst = next((status for status in _WORST if any(row.finding.status is status for row in rows)), Status.PASS)
    if worst is Status.PASS:
        return passed(f"{holds} ({len(hosts)} hosts).", objects=[ref(host.name) for host in hosts], observed=observed)
    notable = sorted(
        (row for row in rows if row.finding.status in _WORST), key=lambda row: _WORST.index(row.finding.status)
    )
    leading = [row for row in notable if row.finding.status is worst]
    make = {Status.FAIL: failed, Status.ERROR: errored, Status.WARN: warned}[worst]
    more = f"; and {len(notable) - _MOST_ROWS} more findings" if len(notable) > _MOST_ROWS else ""
    return make(
        leading[0].finding.reason,
        "; ".join(row.told(len(hosts)) for row in notable[:_MOST_ROWS]) + more + ".",
        expected=expected,
        observed=observed,
        objects=[ref(name) for name in dict.fromkeys(name for row in leading for name, _ in row.hosts)],
        todo=" ".join(dict.fromkeys(row.finding.todo for row in notable if row.finding.todo)),
        commands=tuple(dict.fromkeys(text for row in notable for text in row.finding.commands))[:_MOST_COMMANDS],
    )


def _rows(hosts: Iterable[Host], look: Callable[[Host, HostFacts], Iterable[Finding]]) -> list[_Row]:
    rows: dict[tuple[Status, str], _Row] = {}
    for host in hosts:
        for finding in _looked(host, look):
            row = rows.setdefault((finding.status, finding.text), _Row(finding))
            row.hosts.append((host.name, finding.detail))
    return list(rows.values())


def _looked(host: Host, look: Callable[[Host, HostFacts], Iterable[Finding]]) -> list[Finding]:
    if host.facts is None:
        return []
    try:
        return list(look(host, host.facts))
    except (CannotLookError, ValueError) as error:  # a version that is none, an address that is none
        todo = "see why on the host, and run it again."
        return [Finding(Status.ERROR, f"could not be looked at ({error})", "NotLookedAt", todo=todo)]


def _observed(row: _Row) -> dict[str, Any]:
    found = {
        "hosts": [name for name, _ in row.hosts],
        "status": str(row.finding.status),
        "found": row.finding.text,
        "details": {name: detail for name, detail in row.hosts if detail},
        "repairs": [dict(item) for item in row.finding.repairs],
    }
    return {key: value for key, value in found.items() if value}
