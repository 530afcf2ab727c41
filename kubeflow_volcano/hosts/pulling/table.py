"""The results of all nodes: one table, and each problem once for all nodes that have it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.text import table as aligned

_HEADS = ("node", "pulled", "present", "refused", "failed", "left", "MB", "seconds")
_MOST_NODES = 6

Results = Mapping[str, Mapping[str, Any] | None]
"""By node the plain values of Pulled; None for a node that ended without a result."""


def table(results: Results) -> str:
    """A line per node. `left` counts images that were not tried, `MB` (1000^2 bytes) is the size of pulled images."""
    rows = [_HEADS, *(_row(node, results[node]) for node in sorted(results, key=_counting))]
    return "\n".join(aligned(rows, right=range(1, len(_HEADS))))


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
    """The first line of the pull."""
    nodes = [name for name, count in missing.items() if count]
    verb = "would pull" if check else "pulling"
    return f"{verb} {counted(sum(missing.values()), 'image')} on {len(nodes)} of {counted(len(missing), 'node')}"


def progress_of(state: Mapping[str, Any]) -> str:
    """How far all nodes are, in one line: totals, and the nodes that are furthest behind."""
    nodes: Mapping[str, Mapping[str, Any]] = state["nodes"]
    busy = {name: node for name, node in nodes.items() if node["done"] < node["total"]}
    done, total = (sum(node[key] for node in nodes.values()) for key in ("done", "total"))
    text = f"pulled {done} of {total} images, {len(nodes) - len(busy)} of {counted(len(nodes), 'node')} done"
    slowest = sorted(busy, key=lambda name: (busy[name]["done"] - busy[name]["total"], name))
    shown = few([f"{name} {busy[name]['done']}/{busy[name]['total']}" for name in slowest], _MOST_NODES)
    refused = f"; {len(state['refused'])} refused" if state["refused"] else ""
    return f"{text}{f': {shown}' if shown else ''}{refused}"


def problems(results: Results, refused: Mapping[str, str], stopped: str) -> Iterator[Problem]:
    """What prevents the nodes from having all images."""
    if refused:
        names = "; ".join(f"{name} ({why})" for name, why in sorted(refused.items()))
        yield Problem(
            f"{counted(len(refused), 'image')} refused or missing, and not requested again: {names}.",
            "images that the registry or mirror serves to every node.",
            "correct image_mirror_rules or image_mirror_overrides before the next run; mirrors ban addresses that "
            "repeat such requests.",
        )
    for (name, why), nodes in _grouped(results, "failed").items():
        yield Problem(
            f"{name} on {few(nodes)}: {why}.",
            "the same image on each node: the one with the digest of the registry.",
            _advice(why, name),
        )
    left = _grouped(results, "left")
    for why in dict.fromkeys(why for _, why in left):
        nodes = sorted({node for (_, other), found in left.items() if other == why for node in found})
        count = len([name for name, other in left if other == why])
        yield Problem(
            f"{counted(count, 'image')} not tried on {few(nodes)}: {why}.",
            "images on each node before pods need them.",
            "fix the cause and run again, pulled images stay; raise image_mirror_refusals only if the mirror allows it."
            if why == stopped
            else _advice(why, ""),
        )
    if without := sorted(node for node, result in results.items() if result is None):
        yield Problem(
            f"{few(without)} ended without a result.",
            "nodes that can be reached until the end.",
            "see the messages above and run again: pulled images stay.",
        )


def warnings(results: Results) -> Iterator[Problem]:
    """Images that are known to be unavailable."""
    skipped = _grouped(results, "skipped")
    for why in dict.fromkeys(why for _, why in skipped):
        names = sorted(name for name, other in skipped if other == why)
        yield Problem(
            f"{counted(len(names), 'image')} not pulled, {why}: {', '.join(names)}.",
            "images that are available for the nodes.",
            "name replacements in image_mirror_overrides, or exclude their components (kubeflow_exclude).",
        )


def _grouped(results: Results, kind: str) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node, result in sorted(results.items()):
        for name, why in (result or {}).get(kind, {}).items():
            groups[name, why].append(node)
    return groups


def _advice(why: str, name: str) -> str:
    if "used up" in why:
        return "make room on that disk, or give the images a larger one; then run again: pulled images stay."
    if " and sha256:" in why:
        return f"find out which registry serves the other image; delete it (crictl rmi {name}) and run again."
    todo = symptom.todo.removesuffix(".") if (symptom := recognise(why, "pull")) else "fix the cause"
    return f"{todo}; then run again: pulled images stay."
