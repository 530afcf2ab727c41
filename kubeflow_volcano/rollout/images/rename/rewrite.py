"""Rewrites the image names in objects by the rules of the inventory, and reports what does not fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.references.find import CONTAINERS, Reference, in_object, leaves
from kubeflow_volcano.rollout.images.references.followers import follow
from kubeflow_volcano.rollout.images.references.places import CannotPut, Change, Edit, Place, apply_changes
from kubeflow_volcano.rollout.images.references.programs import compiled_in, of_hooks, unknown_programs
from kubeflow_volcano.rollout.images.rename import advice
from kubeflow_volcano.rollout.images.rename.rules import Decision, Rules, validate_rules
from kubeflow_volcano.rollout.settings.images import MirrorSettings

Parts = Mapping[str, tuple[Object, ...]]
"""The objects of each component."""

_IDLE = frozenset({"documentation", "unknown"})


@dataclass(frozen=True, slots=True)
class ImageUse:
    """One image and all places that name it.

    `original`, `override` (None: none), `final` (in pods) and `mirrored` (in requests to the mirror) are complete
    references. `covered` says whether a mirror rule matches, `rule` its number from 0. `written` are the spellings in
    the manifests, whose tag may be in another field; `kinds` are those of Reference.
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
    """`problems` prevent the roll-out; `warnings` do not."""

    parts: Parts
    images: tuple[ImageUse, ...]
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    idle: tuple[Reference, ...] = field(default=(), repr=False)
    """References in documentation."""


def find(objects: Sequence[Object]) -> tuple[Reference, ...]:
    """Every image reference of these objects, in their order; then those inside their programs."""
    references = [reference for obj in objects for reference in in_object(obj)]
    return (*of_hooks(objects, references), *compiled_in(objects))


def rewrite(parts: Parts, mirror: MirrorSettings) -> Rewritten:
    """The same objects with the image names of `mirror`; applying it twice gives the same result.

    If a container's image is pinned by digest or by a tag that does not move, `Always` becomes `IfNotPresent`, so that
    pre-pulled images are used. Pods that read a renamed configuration get its sum as an annotation, so that a change
    restarts them. In the modes none and containerd only overrides change names: no mirror is used, or the nodes'
    container runtime knows it. In the mode none every pull policy stays.
    """
    owners = {Ref.of(obj): name for name, objects in parts.items() for obj in objects}
    objects = [obj for group in parts.values() for obj in group]
    rules = Rules(mirror)
    references = find(objects)
    decided = [(item, rules.decide(item.image)) for item in references if item.kind not in _IDLE]
    problems = list(validate_rules(mirror))
    stuck: list[tuple[Reference, str]] = []
    done = _changed(objects, decided, rules, stuck)
    done |= dict(follow(objects, done))
    images = _uses(_as_it_is(decided, {id(item) for item, _ in stuck}), owners)
    problems += advice.collisions(decided)
    problems += [advice.no_room(item, why) for item, why in stuck if item.kind != "compiled"]
    warnings = [
        *advice.unknown([item for item in references if item.kind == "unknown"]),
        *advice.unknown_programs(unknown_programs(objects)),
    ]
    warnings += advice.unused(rules, decided)
    if rules.active:
        warnings += [
            *advice.uncovered(rules, decided),
            *advice.too_deep(decision for _, decision in decided),
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
    """Copies of the objects that change; references that cannot be written are added to `stuck`."""
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
            done[ref] = apply_changes(obj, [*changes[ref], *same[ref]])
        except CannotPut as error:
            stuck.append((named[ref], str(error)))
    return done


def _pull_policies(obj: Object, rules: Rules) -> Iterable[Edit]:
    for leaf in leaves(obj):
        outer = leaf.path[-3] if len(leaf.path) > 2 else ""  # noqa: PLR2004  a container is in a list of an object
        if leaf.path[-1] == "imagePullPolicy" and leaf.text == "Always" and outer in CONTAINERS:
            image = ImageName.parse(str(leaf.parent.get("image", "")))
            if image and rules.decide(image).final.pinned:
                yield Edit(Place(leaf.path, 0, len(leaf.text)), "IfNotPresent")


def _as_it_is(
    decided: Iterable[tuple[Reference, Decision]], stuck: Collection[int]
) -> Iterator[tuple[Reference, Decision]]:
    """The decisions; references that cannot be written keep their names."""
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
