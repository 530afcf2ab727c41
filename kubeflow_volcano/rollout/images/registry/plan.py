"""Which images an own registry is filled with, from where, and under which names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.mirrors import AllowList, mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.rename.rules import Rules, strange_rules
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.images.report.judge import own_list
from kubeflow_volcano.rollout.settings.images import MirrorSettings
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["Copy", "copies"]


@dataclass(frozen=True, slots=True)
class Copy:
    """One image on its way: `image` is its own name, `source` the mirror's for it, `target` the registry's.

    Each has a tag or a digest, never both, as tools that copy take no other. `known` says why it can't be had, empty
    where nothing is known against it.
    """

    image: ImageName
    source: ImageName
    target: ImageName
    known: str = ""


def copies(report: ImagesReport, settings: Settings) -> tuple[Copy, ...]:
    """What the registry is to hold, each name once, in the order of the names.

    Raises:
        InvalidInput: the rules of the source or the inventory's allow-list cannot be used.
    """
    listed, side = own_list(settings.mirror), _source_side(settings)
    if strange := tuple(strange_rules(side)):
        raise InvalidInput(strange)
    rules = Rules(side)
    names = {name for name in _names(report, settings) if name}
    return tuple(_copy(name, rules, listed, settings) for name in sorted(names))


def _names(report: ImagesReport, settings: Settings) -> Iterator[ImageName | None]:
    for text in (*(entry.source for entry in report.entries), *settings.registry.images):
        name = ImageName.parse(text)
        yield replace(name, tag="" if name.digest else name.tag or "latest") if name else None


def _source_side(settings: Settings) -> MirrorSettings:
    """Mirror settings in which the inventory's rules and preset say where images come from."""
    registry = settings.registry
    return replace(settings.mirror, mode="rewrite", preset=registry.preset, rules=registry.rules, overrides={})


def _copy(image: ImageName, rules: Rules, listed: AllowList | None, settings: Settings) -> Copy:
    source = rules.decide(image).final
    target = image.at(f"{settings.registry.address}/{image.repository}")
    end = tables.gone(image)
    mirror = mirror_of(source)
    serves = listed.serves(image) if listed else mirror.allow_list.serves(image) if mirror else None
    known = "not on the mirror's list" if serves is False else ""
    if end and (mirror or source == image):  # a mirror that is not known may have kept it
        known = f"gone upstream since {end.since}"
    return Copy(image, source, target, known)
