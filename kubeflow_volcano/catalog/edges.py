"""Which release can be upgraded to which in one step, the path where one step is not enough, and what each brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from kubeflow_volcano.catalog.data import cached, load, own_file, versions
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.read import load_release
from kubeflow_volcano.decode import Key, decode


@dataclass(frozen=True, slots=True)
class Step:
    """What an upgrade brings for a component that is installed; `when` it is kept or left by the new inventory.

    With `confirm` the upgrade waits until the step's name is confirmed. `pruning` is to be done instead of `todo` where
    the same run removes what is left; empty if that makes no difference.
    """

    id: str
    component: str
    when: str
    confirm: bool
    title: str
    consequence: str
    todo: str
    pruning: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An upgrade in one step."""

    origin: Annotated[str, Key("from")]
    target: Annotated[str, Key("to")]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class VolcanoStep:
    """What an upgrade of Volcano to `since` or later brings."""

    since: str
    title: str
    consequence: str


@cached
def edges() -> tuple[Edge, ...]:
    """Every edge in the catalog, oldest first; then those that entries of the user name."""
    every = decode(tuple[Step, ...], load("edges")["every"], "every")
    known = decode(tuple[Edge, ...], load("edges")["edges"], "edges")
    own = (load_release(version) for version in versions("releases") if own_file(f"releases/{version}"))
    return (
        *(replace(edge, steps=(*edge.steps, *every)) for edge in known),
        *(Edge(origin, release.version, every) for release in own for origin in release.upgrades_from),
    )


def edge_between(origin: str, target: str) -> Edge | None:
    """The upgrade from one release to another in one step; None if there is none."""
    return next((edge for edge in edges() if (edge.origin, edge.target) == (origin, target)), None)


def path_between(origin: str, target: str) -> tuple[str, ...]:
    """The releases on the shortest way from `origin` to `target`, the last one included; empty if there is no way."""
    ways: dict[str, tuple[str, ...]] = {origin: ()}
    queue = [origin]
    for here in queue:
        for edge in edges():
            if edge.origin == here and edge.target not in ways:
                ways[edge.target] = (*ways[here], edge.target)
                queue.append(edge.target)
    return ways.get(target, ())


def volcano_steps(origin: str, target: str) -> Iterator[VolcanoStep]:
    """What an upgrade of Volcano between these versions brings."""
    for step in decode(tuple[VolcanoStep, ...], load("edges")["volcano"], "volcano"):
        if version_key(origin) < version_key(step.since) <= version_key(target):
            yield step
