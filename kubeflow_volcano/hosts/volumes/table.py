"""What is known of the volumes of all hosts, in one table: who owns them, who has to, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.hosts.volumes.owners import VolumeOwner

__all__ = ["Row", "rendered", "rows"]

_HEAD = ("host", "directory", "consumer", "found", "wanted", "what")
_MOST = 40
_OPEN = 0o002


@dataclass(frozen=True, slots=True)
class Row:
    """One directory of a volume. `notable` says whether a person has to hear of it."""

    host: str
    directory: str
    consumer: str
    found: str
    wanted: str
    what: str
    notable: bool


def rows(
    owners: Iterable[VolumeOwner], hosts: Mapping[str, str], answers: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[Row]:
    """A row for each owner.

    Args:
        owners: whose the directories are to be.
        hosts: host of the inventory by Node.
        answers: by host, what kfv_volumes said of each of its volumes, in the order of `owners`; a host without an
            answer was not reached.
    """
    given = {host: iter(items) for host, items in answers.items()}
    return [_row(owner, hosts.get(owner.node, ""), given) for owner in owners]


def _row(owner: VolumeOwner, host: str, given: Mapping[str, Iterator[Mapping[str, Any]]]) -> Row:
    directory = f"{owner.path}/{owner.sub_path}" if owner.sub_path else owner.path
    if not host:
        where = f"Node {owner.node}" if owner.node else "no single Node"
        return _with(owner, where, directory, "not looked at", "is no host of the inventory", notable=True)
    if host not in given:
        return _with(owner, host, directory, "not looked at", "the host did not answer", notable=True)
    answer = next(given[host])
    if "owner" not in answer:
        return _with(owner, host, directory, "not looked at", answer["trouble"], notable=True)
    found = f"{answer['owner']} {answer['mode']}, {answer['wrong']} of {answer['looked']} of others"
    what = [*_told(owner, answer), *([answer["trouble"]] if answer["trouble"] else [])]
    return _with(owner, host, directory, found, "; ".join(what) or "right", notable=bool(what))


def _with(owner: VolumeOwner, host: str, directory: str, found: str, what: str, *, notable: bool) -> Row:
    return Row(host, directory, owner.consumer or f"claim {owner.claim}", found, owner.wanted, what, notable)


def _told(owner: VolumeOwner, answer: Mapping[str, Any]) -> Iterator[str]:
    if owner.reason:
        yield f"not judged: {owner.reason}"
    if answer["wrong"]:
        yield (
            f"{answer['given']} given to it" if answer["given"] else "to be given to it (local_path_repair_permissions)"
        )
    if answer["closed"]:
        yield "closed to others"
    elif int(answer["mode"] or "0", 8) & _OPEN:
        yield "open to everybody (local_path_tighten_claims)"
    if answer["left_alone"]:
        yield f"{answer['left_alone']} left alone: devices, other file systems, files with a name elsewhere"
    if answer["incomplete"]:
        yield f"not seen whole: {answer['incomplete']}"


def rendered(found: Sequence[Row]) -> str:
    """The notable rows as a table, at most 40, and how many others there are."""
    notable = [row for row in found if row.notable]
    lines = [_HEAD, *((row.host, row.directory, row.consumer, row.found, row.wanted, row.what) for row in notable)]
    widths = [max(len(line[place]) for line in lines[: _MOST + 1]) for place in range(len(_HEAD))]
    told = [_line(line, widths) for line in lines[: _MOST + 1]] if notable else []
    if len(notable) > _MOST:
        told.append(f"and {len(notable) - _MOST} more")
    told.append(f"{len(found) - len(notable)} of {len(found)} directories of volumes are right.")
    return "\n".join(told)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
