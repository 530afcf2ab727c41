"""Which images are copied into one's own registry, from where, and under which names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.mirrors import AllowList, mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.rename.rules import Rules, validate_rules
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.images.report.judge import own_list
from kubeflow_volcano.rollout.settings.images import MirrorSettings
from kubeflow_volcano.rollout.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Copy:
    """One image to copy: `image` is its own name, `source` the mirror's name for it, `target` the registry's.

    Each has a tag or a digest: skopeo takes no reference with both. `known` says why the image is unavailable, empty
    if it may be available.
    """

    image: ImageName
    source: ImageName
    target: ImageName
    known: str = ""


def copies(report: ImagesReport, settings: Settings) -> tuple[Copy, ...]:
    """The images that the registry needs, each once, sorted by name.

    Raises:
        InvalidInput: the rules of the source or the inventory's allow-list cannot be used.
    """
    listed, side = own_list(settings.mirror), _source_side(settings)
    if problems := tuple(validate_rules(side)):
        raise InvalidInput(problems)
    rules = Rules(side)
    names = {name for name in _names(report, settings) if name}
    return tuple(_copy(name, rules, listed, settings) for name in sorted(names))


def _names(report: ImagesReport, settings: Settings) -> Iterator[ImageName | None]:
    for text in (*(entry.source for entry in report.entries), *settings.registry.images):
        name = ImageName.parse(text)
        yield replace(name, tag="" if name.digest else name.tag or "latest") if name else None


def _source_side(settings: Settings) -> MirrorSettings:
    """Mirror settings in which the rules and the preset of the registry say where images come from."""
    registry = settings.registry
    return replace(settings.mirror, mode="rewrite", preset=registry.preset, rules=registry.rules, overrides={})


def _copy(image: ImageName, rules: Rules, listed: AllowList | None, settings: Settings) -> Copy:
    source = rules.decide(image).final
    target = image.at(f"{settings.registry.address}/{image.repository}")
    end = tables.gone(image)
    mirror = mirror_of(source)
    serves = listed.serves(image) if listed else mirror.allow_list.serves(image) if mirror else None
    known = "not on the mirror's list" if serves is False else ""
    if end and (mirror or source == image):  # an unknown mirror may have kept it
        known = f"gone upstream since {end.since}"
    return Copy(image, source, target, known)
