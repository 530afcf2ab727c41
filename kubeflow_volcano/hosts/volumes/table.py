"""The volumes of all hosts in one table: their owners, the owners that they need, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.hosts.volumes.owners import VolumeOwner
from kubeflow_volcano.text import counted, table

_HEAD = ("host", "directory", "consumer", "found", "needed", "result")
_MOST = 40
_OPEN = 0o002


@dataclass(frozen=True, slots=True)
class Row:
    """One directory of a volume. Only notable rows are printed."""

    host: str
    directory: str
    consumer: str
    found: str
    needed: str
    result: str
    notable: bool


def rows(
    owners: Iterable[VolumeOwner], hosts: Mapping[str, str], answers: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[Row]:
    """A row for each owner.

    Args:
        owners: the owners that directories need.
        hosts: host of the inventory by Node.
        answers: by host, what kfv_volume_owners answered for each of its volumes, in the order of `owners`; a host
            without an answer was not reached.
    """
    given = {host: iter(items) for host, items in answers.items()}
    return [_row(owner, hosts.get(owner.node, ""), given) for owner in owners]


def _row(owner: VolumeOwner, host: str, given: Mapping[str, Iterator[Mapping[str, Any]]]) -> Row:
    directory = f"{owner.path}/{owner.sub_path}" if owner.sub_path else owner.path
    if not host:
        where = f"Node {owner.node}" if owner.node else "no single Node"
        return _with(owner, where, directory, "not looked at", "is not a host of the inventory", notable=True)
    if host not in given:
        return _with(owner, host, directory, "not looked at", "the host did not answer", notable=True)
    answer = next(given[host])
    if "owner" not in answer:
        return _with(owner, host, directory, "not looked at", answer["trouble"], notable=True)
    found = f"{answer['owner']} {answer['mode']}, {answer['wrong']} of {answer['looked']} with another owner"
    what = [*_described(owner, answer), *([answer["trouble"]] if answer["trouble"] else [])]
    return _with(owner, host, directory, found, "; ".join(what) or "right", notable=bool(what))


def _with(owner: VolumeOwner, host: str, directory: str, found: str, what: str, *, notable: bool) -> Row:
    return Row(host, directory, owner.consumer or f"claim {owner.claim}", found, owner.needed, what, notable)


def _described(owner: VolumeOwner, answer: Mapping[str, Any]) -> Iterator[str]:
    if owner.reason:
        yield f"not judged: {owner.reason}"
    if answer["wrong"]:
        yield (f"{answer['given']} corrected" if answer["given"] else "to be corrected (local_path_repair_permissions)")
    if answer["closed"]:
        yield "closed to others"
    elif int(answer["mode"] or "0", 8) & _OPEN:
        yield "world-writable (local_path_tighten_claims)"
    if answer["left_alone"]:
        yield f"{answer['left_alone']} left alone: devices, other file systems, files with a name elsewhere"
    if answer["incomplete"]:
        yield f"not completely checked: {answer['incomplete']}"


def rendered(rows: Sequence[Row]) -> str:
    """The notable rows as a table, at most 40, and how many others there are."""
    notable = [row for row in rows if row.notable]
    cells = [(row.host, row.directory, row.consumer, row.found, row.needed, row.result) for row in notable[:_MOST]]
    lines = table([_HEAD, *cells]) if notable else []
    if len(notable) > _MOST:
        lines.append(f"and {len(notable) - _MOST} more")
    right = len(rows) - len(notable)
    all_of_them = counted(len(rows), "volume directory", "volume directories")
    lines.append(f"{right} of {all_of_them} {'is' if right == 1 else 'are'} right.")
    return "\n".join(lines)
