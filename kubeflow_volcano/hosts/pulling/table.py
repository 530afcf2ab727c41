"""What became of all nodes: one table, and each trouble once however many nodes have it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import counted

__all__ = ["beginning", "problems", "progress_of", "table", "warnings"]

_HEADS = ("node", "pulled", "present", "refused", "failed", "left", "MB", "seconds")
_MOST_NODES = 6
_NAMED = 5

Results = Mapping[str, Mapping[str, Any] | None]
"""By node the plain values of Pulled; None for a node that ended without."""


def table(results: Results) -> str:
    """A line per node. `left` counts images that nobody tried, `MB` (1000^2 bytes) are those of pulled images."""
    rows = [_HEADS, *(_row(node, results[node]) for node in sorted(results, key=_counting))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _counting(name: str) -> list[tuple[int, str]]:
    """Sorts node-2 before node-10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _row(node: str, result: Mapping[str, Any] | None) -> tuple[str, ...]:
    if result is None:
        return (node, *("-" for _ in _HEADS[1:]))
    counts = (len(result[name]) for name in ("refused", "failed", "left"))
    size, seconds = f"{result['bytes'] / 1e6:.1f}", f"{result['seconds']:.1f}"
    return (node, str(len(result["pulled"])), str(result["present"]), *map(str, counts), size, seconds)


def beginning(missing: Mapping[str, int], check: bool) -> str:  # noqa: FBT001  said at the call
    """What the pull begins with."""
    nodes = [name for name, count in missing.items() if count]
    verb = "would pull" if check else "pulling"
    return f"{verb} {counted(sum(missing.values()), 'image')} on {len(nodes)} of {counted(len(missing), 'node')}"


def progress_of(state: Mapping[str, Any]) -> str:
    """How far all nodes are, in one line: each that is at it while they are few, else the sum and the slowest."""
    nodes: Mapping[str, Mapping[str, Any]] = state["nodes"]
    busy = {name: node for name, node in nodes.items() if node["done"] < node["total"]}
    done, total = (sum(node[key] for node in nodes.values()) for key in ("done", "total"))
    text = f"pulled {done} of {total} images, {len(nodes) - len(busy)} of {counted(len(nodes), 'node')} done"
    slowest = sorted(busy, key=lambda name: (busy[name]["done"] - busy[name]["total"], name))[:_MOST_NODES]
    shown = ", ".join(f"{name} {busy[name]['done']}/{busy[name]['total']}" for name in slowest)
    more = f" and {len(busy) - len(slowest)} more" if len(busy) > len(slowest) else ""
    refused = f"; {len(state['refused'])} refused" if state["refused"] else ""
    return f"{text}{f': {shown}{more}' if shown else ''}{refused}"


def problems(results: Results, refused: Mapping[str, str], stopped: str) -> Iterator[Problem]:
    """What keeps the nodes from having all images."""
    if refused:
        names = "; ".join(f"{name} ({why})" for name, why in sorted(refused.items()))
        yield Problem(
            f"{counted(len(refused), 'image')} refused or missing, and asked for no more: {names}.",
            "images that the registry or mirror serves to every node.",
            "correct image_mirror_rules or image_mirror_overrides; don't ask again soon for what was refused.",
        )
    for (name, why), nodes in _grouped(results, "failed").items():
        yield Problem(
            f"{name} on {_named(nodes)}: {why}.",
            "the image that its name stands for, on each node.",
            _advice(why, name),
        )
    left = _grouped(results, "left")
    for why in dict.fromkeys(why for _, why in left):
        nodes = sorted({node for (_, other), found in left.items() if other == why for node in found})
        count = len([name for name, other in left if other == why])
        yield Problem(
            f"{counted(count, 'image')} not tried on {_named(nodes)}: {why}.",
            "images on each node before pods ask for them.",
            "raise image_mirror_refusals only if the mirror can bear it; else mend the cause and run again: "
            "what was pulled stays."
            if why == stopped
            else _advice(why, ""),
        )
    if without := sorted(node for node, result in results.items() if result is None):
        yield Problem(
            f"{_named(without)} ended without a result.",
            "nodes that can be reached until the end.",
            "see the messages above and run again: what was pulled stays.",
        )


def warnings(results: Results) -> Iterator[Problem]:
    """What was known beforehand and left out."""
    skipped = _grouped(results, "skipped")
    for why in dict.fromkeys(why for _, why in skipped):
        names = sorted(name for name, other in skipped if other == why)
        yield Problem(
            f"{counted(len(names), 'image')} not pulled, {why}: {', '.join(names)}.",
            "images that can be had for the nodes.",
            "name replacements in image_mirror_overrides, or leave their components out (kubeflow_exclude).",
        )


def _grouped(results: Results, kind: str) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node, result in sorted(results.items()):
        for name, why in (result or {}).get(kind, {}).items():
            found[name, why].append(node)
    return found


def _named(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return f"{', '.join(nodes[:_NAMED])}{more}"


def _advice(why: str, name: str) -> str:
    if "used up" in why or "no space" in why:
        return "make room on that disk, or give the images a larger one; then run again: what was pulled stays."
    if "certificate" in why or "x509" in why:
        return "give the nodes the registry's CA certificate, and run again."
    if " and sha256:" in why:
        return f"see who serves another image by that name; remove it there (crictl rmi {name}) and run again."
    return "mend the cause, and run again: what was pulled stays."
