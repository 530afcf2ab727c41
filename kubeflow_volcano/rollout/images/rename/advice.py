"""What there is to tell about images and rules, each as found, needed and what to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.references.find import Reference
from kubeflow_volcano.rollout.images.rename.rules import Decision, Rules, shown
from kubeflow_volcano.text import counted

__all__ = ["beyond_manifests", "collisions", "no_room", "strangers", "uncovered", "unknown", "unused"]

Decided = Sequence[tuple[Reference, Decision]]


def collisions(decided: Decided) -> Iterator[Problem]:
    """Different images that would get one name."""
    sources: dict[ImageName, set[ImageName]] = defaultdict(set)
    for _, decision in decided:
        sources[decision.mirrored].add(decision.override or decision.original)
    for final, several in sorted(sources.items()):
        if len(several) > 1:
            yield Problem(
                f"{_list(sorted(map(str, several)))} would all become {final}.",
                "one name for each image, as a registry keeps one image below it.",
                "give each source a registry path of its own in image_mirror_rules, such as registry: HOST/gcr.io.",
            )


def no_room(item: Reference, why: str) -> Problem:
    """A reference that cannot be replaced as asked."""
    return Problem(
        f"{item.image} in {item.ref}, {item.site}: {why}.",
        "a replacement that the field can hold.",
        "choose another replacement for it in image_mirror_overrides.",
    )


def unknown(items: Sequence[Reference]) -> Iterator[Problem]:
    """What looks like a reference and stands where none is known to stand."""
    if items:
        yield Problem(
            f"what looks like an image in places that are not known: "
            f"{_list(sorted({f'{item.text} in {item.ref}, {item.site}' for item in items}))}.",
            "each reference in a known place, so that its name can be replaced.",
            "see whether a pod is made with it; if so, mirror it in the container runtime, or name it by hand.",
        )


def strangers(programs: Iterable[tuple[Ref, str]]) -> Iterator[Problem]:
    """Programs of unknown version that bring images of their own."""
    for ref, image in programs:
        yield Problem(
            f"{ref} runs {image}, a version that the catalog does not know.",
            "a known version, as its program starts pods with images of its own, which differ from version to version.",
            "set those images by the program's flags, or mirror them in the container runtime.",
        )


def unused(rules: Rules, decided: Decided) -> Iterator[Problem]:
    """The inventory's rules and overrides that fit nothing."""
    used = {decision.rule for _, decision in decided}
    for number, rule in enumerate(rules.own):
        if number not in used:
            yield Problem(
                f"the rule {shown(rule)} fits no image.",
                "rules that fit: a host as it stands in complete references, docker.io for those without one.",
                "correct its source in image_mirror_rules, or remove it.",
            )
    taken = {decision.overridden_by for _, decision in decided}
    replaced = {decision.override for _, decision in decided}
    for text, _, new in rules.overrides:
        if text not in taken and new not in replaced:
            yield Problem(
                f"the override of {text} fits no image.",
                "the name of an image of the chosen components, with its tag or without one for any.",
                "correct it in image_mirror_overrides, or remove it.",
            )


def uncovered(rules: Rules, decided: Decided) -> Iterator[Problem]:
    """Images that no mirror rule fits."""
    left = sorted({str(decision.final) for _, decision in decided if decision.rule is None})
    if left and rules.rules:
        hosts = sorted({name.partition("/")[0] for name in left})
        yield Problem(
            f"{counted(len(left), 'image')} without a rule that fits, from {', '.join(hosts)}: {_list(left)}.",
            "a rule for each image, or nodes that reach those registries.",
            f"add a rule to image_mirror_rules, such as source: {hosts[0]}.",
        )


def beyond_manifests(items: Sequence[Reference]) -> Iterator[Problem]:
    """Images inside programs that cannot be told otherwise."""
    for item in items:
        yield Problem(
            f"{item.image} stands in the program of {item.ref}, which has no flag or variable for it ({item.site}).",
            "nodes that find it by that name.",
            "mirror it in the container runtime of the nodes, or do without what needs it.",
        )


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
