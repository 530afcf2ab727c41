"""Objects with the image names that the inventory's rules give, and what there is to tell about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.references.find import CONTAINERS, Reference, in_object, leaves
from kubeflow_volcano.rollout.images.references.followers import follow
from kubeflow_volcano.rollout.images.references.places import CannotPut, Change, Edit, Place, changed
from kubeflow_volcano.rollout.images.references.programs import compiled_in, of_hooks, strangers
from kubeflow_volcano.rollout.images.rename import advice
from kubeflow_volcano.rollout.images.rename.rules import Decision, Rules, strange_rules
from kubeflow_volcano.rollout.settings.images import MirrorSettings

__all__ = ["ImageUse", "Parts", "Rewritten", "find", "rewrite"]

Parts = Mapping[str, tuple[Object, ...]]
"""The objects of each component."""

_IDLE = frozenset({"documentation", "unknown"})


@dataclass(frozen=True, slots=True)
class ImageUse:
    """One image and all that names it.

    `original`, `override` (None: it is taken as it is), `final` and `mirrored` are complete references: what nodes are
    told, and what is asked for at the mirror. `covered` says whether a mirror rule fits, `rule` its number from 0.
    `written` is how the manifests spell it, whose tag may stand elsewhere; `kinds` are those of Reference.
    """

    original: str
    override: str | None
    final: str
    mirrored: str
    covered: bool
    rule: int | None
    written: tuple[str, ...]
    kinds: tuple[str, ...]
    components: tuple[str, ...]
    sites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`problems` keep the result from being used; `warnings` are for a person to weigh."""

    parts: Parts
    images: tuple[ImageUse, ...]
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    idle: tuple[Reference, ...] = field(default=(), repr=False)
    """References in documentation."""


def find(objects: Sequence[Object]) -> tuple[Reference, ...]:
    """Every image reference of these objects, in their order; then those that stand in their programs."""
    found = [reference for obj in objects for reference in in_object(obj)]
    return (*of_hooks(objects, found), *compiled_in(objects))


def rewrite(parts: Parts, mirror: MirrorSettings) -> Rewritten:
    """The same objects with the names that `mirror` gives to their images; twice is the same as once.

    Where a container's image is pinned by digest or by a tag that does not move, `Always` becomes `IfNotPresent`, so
    that what was pulled beforehand is used. Pods that read a renamed configuration are marked with its sum, so that
    another one reaches them. In the mode none nothing is changed, and the images are listed as they are; in the mode
    containerd only overrides change names, as the nodes' runtime knows the mirror.
    """
    owners = {Ref.of(obj): name for name, objects in parts.items() for obj in objects}
    objects = [obj for group in parts.values() for obj in group]
    rules = Rules(mirror)
    references = find(objects)
    decided = [(item, rules.decide(item.image)) for item in references if item.kind not in _IDLE]
    problems = list(strange_rules(mirror))
    stuck: list[tuple[Reference, str]] = []
    done = _changed(objects, decided, rules, stuck)
    done |= dict(follow(objects, done))
    images = _uses(_as_it_is(decided, {id(item) for item, _ in stuck}), owners)
    problems += advice.collisions(decided)
    problems += [advice.no_room(item, why) for item, why in stuck if item.kind != "compiled"]
    warnings = [
        *advice.unknown([item for item in references if item.kind == "unknown"]),
        *advice.strangers(strangers(objects)),
    ]
    if rules.active:
        warnings += [
            *advice.unused(rules, decided),
            *advice.uncovered(rules, decided),
            *advice.beyond_manifests([item for item, _ in stuck if item.kind == "compiled" and rules.renames]),
        ]
    return Rewritten(
        {name: tuple(done.get(Ref.of(obj), obj) for obj in group) for name, group in parts.items()},
        images,
        tuple(problems),
        tuple(warnings),
        tuple(item for item in references if item.kind == "documentation"),
    )


def _changed(
    objects: Iterable[Object],
    decided: Iterable[tuple[Reference, Decision]],
    rules: Rules,
    stuck: list[tuple[Reference, str]],
) -> dict[Ref, Object]:
    """New objects for those that change; references that cannot be written go to `stuck`."""
    changes: dict[Ref, list[Change]] = defaultdict(list)
    same: dict[Ref, list[Change]] = defaultdict(list)
    named: dict[Ref, Reference] = {}
    for item, decision in decided:
        if item.put is None:
            continue
        if decision.final == item.image:
            same[item.ref] += item.put.stays(item.text)
            continue
        try:
            changes[item.ref] += item.put.changes(item.image, decision.final)
            named[item.ref] = item
        except CannotPut as error:
            stuck.append((item, str(error)))
    done: dict[Ref, Object] = {}
    for obj in objects:
        ref = Ref.of(obj)
        if rules.active:
            changes[ref] += _pull_policies(obj, rules)
        if not changes[ref]:
            continue
        try:
            done[ref] = changed(obj, [*changes[ref], *same[ref]])
        except CannotPut as error:
            stuck.append((named[ref], str(error)))
    return done


def _pull_policies(obj: Object, rules: Rules) -> Iterable[Edit]:
    for leaf in leaves(obj):
        if leaf.path[-1] == "imagePullPolicy" and leaf.text == "Always" and leaf.path[-3] in CONTAINERS:
            image = ImageName.parse(str(leaf.parent.get("image", "")))
            if image and rules.decide(image).final.pinned:
                yield Edit(Place(leaf.path, 0, len(leaf.text)), "IfNotPresent")


def _as_it_is(
    decided: Iterable[tuple[Reference, Decision]], stuck: Collection[int]
) -> Iterator[tuple[Reference, Decision]]:
    """The decisions, but for references that cannot be written: those keep their name, whatever was decided."""
    for item, decision in decided:
        yield item, Decision(item.image, None, item.image, None) if id(item) in stuck else decision


def _uses(decided: Iterable[tuple[Reference, Decision]], owners: Mapping[Ref, str]) -> tuple[ImageUse, ...]:
    by_image: dict[ImageName, list[tuple[Reference, Decision]]] = defaultdict(list)
    for item, decision in decided:
        by_image[decision.original].append((item, decision))
    return tuple(
        ImageUse(
            original=str(image),
            override=str(items[0][1].override) if items[0][1].override else None,
            final=str(items[0][1].final),
            mirrored=str(items[0][1].mirrored),
            covered=items[0][1].rule is not None,
            rule=items[0][1].rule,
            written=tuple(dict.fromkeys(item.text for item, _ in items)),
            kinds=tuple(dict.fromkeys(item.kind for item, _ in items)),
            components=tuple(dict.fromkeys(owners[item.ref] for item, _ in items)),
            sites=tuple(dict.fromkeys(f"{item.ref} {item.site}" for item, _ in items)),
        )
        for image, items in sorted(by_image.items())
    )
