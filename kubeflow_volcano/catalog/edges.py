"""Which release can be upgraded to which in one step, the path where one step is not enough, and what each brings.

What an upgrade brings by the objects of both versions follows from their entries; edges.yaml has what it does not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.changes import Changes, changes
from kubeflow_volcano.catalog.data import cached, load, own_file, versions
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.decode import Key, decode
from kubeflow_volcano.ref import Ref
from kubeflow_volcano.text import few

_PRUNE = """run with -e '{"kubeflow_prune": true}'"""
_CRD = "CustomResourceDefinition"


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
    """An upgrade in one step; `judged` are the steps that a person has written."""

    origin: Annotated[str, Key("from")]
    target: Annotated[str, Key("to")]
    judged: Annotated[tuple[Step, ...], Key("steps")]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps: the judged ones, and those that follow from the entries of both releases."""
        return *self.judged, *_derived(self)


@cached
def edges() -> tuple[Edge, ...]:
    """Every edge in the catalog, oldest first; then those that entries of the user name."""
    every = decode(tuple[Step, ...], load("edges")["every"], "every")
    known = decode(tuple[Edge, ...], load("edges")["edges"], "edges")
    own = (read.load_release(version) for version in versions("releases") if own_file(f"releases/{version}"))
    return (
        *(replace(edge, judged=(*edge.judged, *every)) for edge in known),
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


def steps_between(old: Mapping[str, Component], new: Mapping[str, Component]) -> Iterator[Step]:
    """What follows from the entries of two versions, by name of their components, for components of both."""
    for found in changes(old.values(), new.values()):
        if found.component in new:
            yield from _steps(found, old[found.component], new[found.component])


@cached
def _derived(edge: Edge) -> tuple[Step, ...]:
    """What follows from the entries of both releases."""
    old, new = read.load_release(edge.origin).components, read.load_release(edge.target).components
    left = {step.component for step in edge.judged if step.when == "left"}
    return *steps_between(old, new), *(
        _left(part, new) for part in old.values() if part.name not in left and _leaves(part, new)
    )


def _leaves(part: Component, new: Mapping[str, Component]) -> bool:
    """Whether it was in upstream's example, and is no longer; what brings nothing that runs leaves nothing."""
    return bool(part.example and part.central and not (part.name in new and new[part.name].example))


def _left(part: Component, new: Mapping[str, Component]) -> Step:
    keep = f"name {part.name} in kubeflow_include"
    there = part.name in new
    return Step(
        id=f"{part.name}-left",
        component=part.name,
        when="left",
        confirm=False,
        title=f"{part.title} is no longer in the profile full",
        consequence="What was installed runs on at its old version, with its webhooks.",
        todo=f"{_PRUNE}, or {keep}." if there else f"{_PRUNE}.",
        pruning=f"{keep} to keep it; otherwise this run removes it." if there else "nothing, as this run removes it.",
    )


def _steps(found: Changes, old: Component, new: Component) -> Iterator[Step]:
    """The changes of a component that stays, as steps."""

    def step(what: str, title: str, consequence: str, todo: str, pruning: str = "") -> Step:
        return Step(f"{old.name}-{what}", old.name, "kept", False, title, consequence, todo, pruning)  # noqa: FBT003  confirm

    if found.selectors:
        yield step(
            "selectors",
            f"{_names(found.selectors)} of {old.title} {_have(found.selectors)} another selector",
            "Selectors are immutable. What it manages stays, and nothing acts on it until the workload is back.",
            f"delete it before the upgrade: {' && '.join(map(_deletion, found.selectors))}",
        )
    for name, stored in found.unserved.items():
        yield step(
            f"stored-{name}",
            f"{name} is no longer served in {stored}, in which objects of {old.title} {old.version} are stored",
            f"They are stored again in {new.stored.get(name) or new.crds[name][0]}; clients that name {stored} fail.",
            f"see them before: kubectl get {name} -A",
        )
    ends = [ref for ref in found.removed if ref.kind == _CRD]
    if ends:
        kinds = ",".join(ref.name for ref in ends)
        yield step(
            "kinds",
            f"{old.title} no longer has {_names(ends)}",
            "Objects of that kind stay, and nothing acts on them.",
            f"see them: kubectl get {kinds} -A",
        )
    left = [ref for ref in found.removed if ref.kind != _CRD]
    if left:
        caught = sorted({name for ref in left for name in old.intercepts.get(ref, ())})
        yield step(
            "removed",
            f"{old.title} no longer has {_names(left)}",
            "What was installed runs on beside what is new"
            + (f", and its webhooks act on {few(caught)}" if caught else "")
            + ", until it is pruned; webhooks that nothing answers are removed before the new ones are sent.",
            f"{_PRUNE}.",
            "nothing, as this run removes it.",
        )
    for kind, resources in found.intercepts.items():
        mutating = kind.startswith("Mutating")
        yield step(
            "mutates" if mutating else "validates",
            f"Webhooks of {old.title} {'change' if mutating else 'may refuse'} {few(resources)}, too",
            "Such objects were taken as they are before.",
            "nothing before the upgrade",
        )


def _names(refs: Iterable[Ref]) -> str:
    return few([str(ref) for ref in refs])


def _have(refs: Sequence[Ref]) -> str:
    return "have" if refs[1:] else "has"


def _deletion(ref: Ref) -> str:
    return f"kubectl -n {ref.namespace} delete {ref.kind.lower()} {ref.name}"
