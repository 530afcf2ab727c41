"""Problems and warnings about images and rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.references.find import Reference
from kubeflow_volcano.rollout.images.rename.rules import Decision, Rules, describe_rule
from kubeflow_volcano.text import counted, few

_TWO_LEVELS = ("docker.io", "registry.*.aliyuncs.com", "registry-vpc.*.aliyuncs.com")
"""Docker Hub, and Alibaba's registry for single persons: repositories are namespace/name (docker/cli#4833)."""
Decided = Sequence[tuple[Reference, Decision]]


def collisions(decided: Decided) -> Iterator[Problem]:
    """Different images that would get one name."""
    sources: dict[ImageName, set[ImageName]] = defaultdict(set)
    for _, decision in decided:
        sources[decision.mirrored].add(decision.override or decision.original)
    for final, several in sorted(sources.items()):
        if len(several) > 1:
            yield Problem(
                f"{_list(sorted(map(str, several)))} would all be named {final}.",
                "a name for each image: a registry has one image below a name.",
                "set a registry path for each source in image_mirror_rules, such as registry: HOST/gcr.io.",
            )


def too_deep(decisions: Iterable[Decision]) -> Iterator[Problem]:
    """Names with more levels than their registry has, where a rule made them; copying there would be refused."""
    deep = sorted({str(item.mirrored) for item in decisions if item.rule is not None and _is_too_deep(item.mirrored)})
    if deep:
        host = deep[0].partition("/")[0]
        yield Problem(
            f"{counted(len(deep), 'name')} at {host} with more than two levels, such as {few(deep, 2)}.",
            "names of two levels, namespace/name: that registry has no others, and refuses to take such images.",
            "name each image in image_mirror_overrides with two levels, or use a registry with deeper names, such as "
            "Harbor 1.9 or later.",
        )


def _is_too_deep(name: ImageName) -> bool:
    return name.path.count("/") > 1 and any(fnmatchcase(name.host, host) for host in _TWO_LEVELS)


def no_room(item: Reference, why: str) -> Problem:
    """A reference that cannot be replaced as the rules say."""
    return Problem(
        f"{item.image} in {item.ref}, {item.site}: {why}.",
        "a replacement that fits into the field.",
        "choose another replacement in image_mirror_overrides.",
    )


def unknown(items: Sequence[Reference]) -> Iterator[Problem]:
    """Texts that look like references in unknown places."""
    if items:
        yield Problem(
            f"texts that look like images in unknown places: "
            f"{_list(sorted({f'{item.text} in {item.ref}, {item.site}' for item in items}))}.",
            "references in known places, whose names can be replaced.",
            "find out whether a pod uses it; if so, mirror it in the container runtime, or change the name by hand.",
        )


def unknown_programs(programs: Iterable[tuple[Ref, str]]) -> Iterator[Problem]:
    """Programs of unknown versions that use images of their own."""
    for ref, image in programs:
        yield Problem(
            f"{ref} runs {image}, a version that the catalog does not know.",
            "a known version: the program starts pods with images of its own, which differ between versions.",
            "set those images by the program's flags, or mirror them in the container runtime.",
        )


def unused(rules: Rules, decided: Decided) -> Iterator[Problem]:
    """Rules and overrides of the inventory that match no image."""
    used = {decision.rule for _, decision in decided}
    for number, rule in enumerate(rules.own):
        if number not in used:
            yield Problem(
                f"the rule {describe_rule(rule)} matches no image.",
                "rules that match: a host as in complete references, docker.io for those without one.",
                "correct its source in image_mirror_rules, or remove it.",
            )
    taken = {decision.overridden_by for _, decision in decided}
    replaced = {decision.override for _, decision in decided}
    for text, _, new in rules.overrides:
        if text not in taken and new not in replaced:
            yield Problem(
                f"the override of {text} matches no image.",
                "the name of an image of the chosen components, with its tag, or without one for any tag.",
                "correct it in image_mirror_overrides, or remove it.",
            )


def uncovered(rules: Rules, decided: Decided) -> Iterator[Problem]:
    """Images that no mirror rule matches."""
    left = sorted({str(decision.final) for _, decision in decided if decision.rule is None})
    if left and rules.rules:
        hosts = sorted({name.partition("/")[0] for name in left})
        yield Problem(
            f"{counted(len(left), 'image')} without a matching rule, from {', '.join(hosts)}: {_list(left)}.",
            "a rule for each image, or nodes that reach those registries.",
            f"add a rule to image_mirror_rules, such as source: {hosts[0]}.",
        )


def beyond_manifests(items: Sequence[Reference]) -> Iterator[Problem]:
    """Images inside programs that cannot be replaced."""
    for item in items:
        yield Problem(
            f"{item.image} is compiled into a program of {item.ref} without a flag or variable for it ({item.site}).",
            "nodes that can pull it by that name.",
            "mirror it in the container runtime of the nodes, or do not use the feature that needs it.",
        )


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
