"""The order of the roll-out: its graph cut into waves, which are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.apply.graph import Graph, graph
from kubeflow_volcano.cluster.objects import Object, Ref


@dataclass(frozen=True, slots=True)
class Wave:
    """Objects that may be applied together: how many of each kind, of which components, and what they wait for."""

    number: int
    objects: int
    kinds: Mapping[str, int]
    components: tuple[str, ...]
    awaits: tuple[Ref, ...]


def waves(
    parts: Mapping[str, Sequence[Object]],
    requires: Mapping[str, Sequence[str]],
    optional_webhooks: Collection[str] = (),
    makers: Collection[tuple[str, str]] = (),
) -> tuple[Wave, ...]:
    """All waves of the graph that a roll-out of these components runs; the arguments are those of `graph`.

    The engine does not stop between them; it sends each object as soon as its own needs are met.
    """
    owner = {Ref.of(obj): name for name, objects in parts.items() for obj in objects}
    whole = graph(parts, requires, optional_webhooks, makers=makers)
    levels: dict[Ref, int] = {}
    for ref in whole.needs:
        _level(ref, whole, levels)
    cut: list[Wave] = []
    told: set[Ref] = set()
    for number, level in enumerate(sorted(set(levels.values())), start=1):
        refs = [ref for ref in whole.needs if levels[ref] == level]
        awaits = {need for ref in refs for need in whole.needs[ref].ready} - told
        told |= awaits
        kinds = dict(sorted(Counter(ref.kind for ref in refs).items()))
        names = tuple(dict.fromkeys(owner[ref] for ref in refs))
        cut.append(Wave(number, len(refs), kinds, names, tuple(sorted(awaits))))
    return tuple(cut)


def _level(ref: Ref, whole: Graph, levels: dict[Ref, int]) -> int:
    """Length of the longest chain before `ref`; the graph has no circles, so the recursion ends.

    Readiness counts twice, so that objects without such needs come in earlier waves.
    """
    if ref not in levels:
        needs = whole.needs[ref]
        before = [_level(need, whole, levels) + 1 for need in needs.applied]
        before += [_level(need, whole, levels) + 2 for need in needs.ready]
        levels[ref] = max(before, default=0)
    return levels[ref]
