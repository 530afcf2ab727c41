"""What is known about an image without asking a registry: whether it is gone, served by the mirror, and built for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.mirrors import AllowList, Mirror, mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.settings.images import MirrorSettings


@dataclass(frozen=True, slots=True)
class Judgement:
    """`gone`: since when and by which evidence, empty if it is not known to be. `served`: None is unknown.

    `architectures` are those that it was built for, empty if unknown; `missing` those of the plan that it lacks.
    """

    gone: str
    served: bool | None
    architectures: tuple[str, ...]
    missing: tuple[str, ...]


def judge(use: ImageUse, listed: AllowList | None, architectures: Sequence[str]) -> Judgement:
    """What is known about the image that will be pulled; `listed` takes precedence over the catalog's list."""
    source = ImageName.parse(use.override or use.original)
    mirrored = ImageName.parse(use.mirrored)
    if source is None or mirrored is None:
        return Judgement("", None, (), ())
    end = tables.gone(source)
    mirror = mirror_of(mirrored)
    built = tables.architectures_of(source)
    return Judgement(
        gone=f"since {end.since}, {end.evidence}" if end else "",
        served=_served(source, use, listed, mirror),
        architectures=built.architectures if built else (),
        missing=tuple(item for item in architectures if item not in built.architectures) if built else (),
    )


def mirrored_elsewhere(text: str, mirror: MirrorSettings) -> tuple[str, bool | None] | None:
    """The mirror's name of an image that only a node names, and whether it serves it; None without a rule for it.

    Raises:
        InvalidInput: the inventory's own allow-list cannot be read.
    """
    image = ImageName.parse(text)
    decision = Rules(mirror).decide(image) if image else None
    if decision is None or decision.rule is None:
        return None
    override = str(decision.override) if decision.override else None
    names = (str(decision.original), override, str(decision.final), str(decision.mirrored))
    use = ImageUse(*names, covered=True, rule=decision.rule, written=(), kinds=(), components=(), sites=())
    return use.mirrored, judge(use, own_list(mirror), ()).served


def own_list(mirror: MirrorSettings) -> AllowList | None:
    """The inventory's own allow-list, or None.

    Raises:
        InvalidInput: the file cannot be read, or is not such a list.
    """
    if mirror.allow_list is None:
        return None
    try:
        lines = mirror.allow_list.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(_unreadable(mirror, str(error))) from error
    allowed = AllowList.of_lines(lines, str(mirror.allow_list))
    wrong = [line for line in allowed.allowed if "/" not in line or " " in line or "<" in line]
    if wrong or not allowed.allowed:
        what = f"its line {wrong[0][:60]!r} is not a pattern of repositories" if wrong else "it is empty"
        raise InvalidInput(_unreadable(mirror, what))
    return allowed


def _unreadable(mirror: MirrorSettings, why: str) -> Problem:
    return Problem(
        f"image_mirror_allow_list is {mirror.allow_list}: {why}.",
        "a text file with one pattern a line, such as gcr.io/** or docker.io/library/*.",
        "correct image_mirror_allow_list, or leave it empty.",
    )


def _served(source: ImageName, use: ImageUse, listed: AllowList | None, mirror: Mirror | None) -> bool | None:
    if not use.covered:
        return None
    if listed:
        return listed.serves(source)
    return mirror.allow_list.serves(source) if mirror else None
