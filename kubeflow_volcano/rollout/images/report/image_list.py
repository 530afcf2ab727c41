"""The list of images as a product: for people, for programs, and for the tools that copy images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse, Rewritten
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.images.report.judge import Judgement, judge, own_list
from kubeflow_volcano.rollout.settings.images import MirrorSettings
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import counted

__all__ = ["Entry", "ImagesReport", "report"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One image, what is done about it and what is known of it."""

    use: ImageUse
    judgement: Judgement

    @property
    def source(self) -> str:
        """The image in its own registry: its override, or itself."""
        return self.use.override or self.use.original


@dataclass(frozen=True, slots=True)
class ImagesReport:
    """All images, in the order of their original names. `problems` forbid the roll-out, `warnings` do not."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    documentation: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "images": [{**asdict(item.use), "source": item.source, **asdict(item.judgement)} for item in self.entries],
            "count": len(self.entries),
            "covered": sum(item.use.covered for item in self.entries),
            "documentation": list(self.documentation),
            "problems": [asdict(problem) for problem in self.problems],
            "warnings": [asdict(problem) for problem in self.warnings],
        }

    @property
    def registries(self) -> list[str]:
        """Where the names lie that nodes are told."""
        return sorted({name.host for item in self.entries if (name := ImageName.parse(item.use.final))})

    def text(self) -> str:
        """The names that nodes pull, one a line."""
        return "".join(f"{name}\n" for name in sorted({item.use.final for item in self.entries}))

    def skopeo(self) -> str:
        """A file for `skopeo sync --src yaml`: what to copy from which registry, by tag or digest."""
        registries: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for name in self._sources():
            registries[name.host][name.path].add(name.version)
        plain = {
            host: {"images": {path: sorted(versions) for path, versions in sorted(paths.items())}}
            for host, paths in sorted(registries.items())
        }
        return yaml.safe_dump(plain, sort_keys=False, width=200) if plain else "{}\n"

    def crane(self) -> str:
        """Source and name on a mirror of each image there, one pair a line: `xargs -n2 crane copy < FILE`."""
        pairs = sorted({(item.source, item.use.mirrored) for item in self.entries if item.source != item.use.mirrored})
        return "".join(f"{source} {target}\n" for source, target in pairs)

    def _sources(self) -> Iterator[ImageName]:
        for item in self.entries:
            if name := ImageName.parse(item.source):
                yield name


def report(rewritten: Rewritten, settings: Settings) -> ImagesReport:
    """The images of a roll-out with all that is known of them; asks nobody.

    Raises:
        InvalidInput: the inventory's allow-list cannot be used.
    """
    listed = own_list(settings.mirror)
    uses = (*rewritten.images, *_of_probes(settings.mirror, {use.original for use in rewritten.images}))
    entries = tuple(Entry(use, judge(use, listed, settings.plan.architectures)) for use in sorted(uses, key=_name))
    return ImagesReport(
        entries=entries,
        problems=rewritten.problems,
        warnings=(*rewritten.warnings, *_judged(entries, settings)),
        documentation=tuple(dict.fromkeys(f"{item.text} in {item.ref} {item.site}" for item in rewritten.idle)),
    )


def _name(use: ImageUse) -> str:
    return use.original


def _of_probes(mirror: MirrorSettings, others: Collection[str]) -> Iterator[ImageUse]:
    """The images that the validation brings, in so far as no manifest names them as well."""
    rules = Rules(mirror)
    for text in (BUSYBOX, PAUSE):
        image = ImageName.parse(text)
        if image and text not in others:
            decision = rules.decide(image)
            override = str(decision.override) if decision.override else None
            covered = decision.rule is not None
            names = (str(decision.final), str(decision.mirrored))
            where = (("probe",), ("validation",), ("pods of the validation",))
            yield ImageUse(text, override, *names, covered, decision.rule, (text,), *where)


def _judged(entries: Sequence[Entry], settings: Settings) -> Iterator[Problem]:
    gone = [item for item in entries if item.judgement.gone]
    if gone:
        evidence = "; ".join(dict.fromkeys(item.judgement.gone for item in gone))
        yield Problem(
            f"{counted(len(gone), 'image')} known to be gone from the registry ({evidence}): {_names(gone)}.",
            "images that can be pulled.",
            "name copies of your own in image_mirror_overrides, or leave their components out (kubeflow_exclude)."
            if settings.mirror.mode != "none" and settings.mirror.catalog_overrides
            else "set image_mirror_mode: rewrite and image_mirror_catalog_overrides: true, or name copies of your own.",
        )
    if refused := [item for item in entries if item.judgement.served is False]:
        yield Problem(
            f"{counted(len(refused), 'image')} missing from the allow-list of the mirror: {_names(refused)}.",
            "images on the mirror's list; it answers 403 to others, and bans who asks often.",
            "add a rule for each before the others in image_mirror_rules, or an override that the mirror serves.",
        )
    for architecture in settings.plan.architectures:
        lacking = [item for item in entries if architecture in item.judgement.missing]
        if lacking:
            yield Problem(
                f"{counted(len(lacking), 'image')} known not to be built for {architecture}: {_names(lacking)}.",
                f"images for {architecture}, which plan_architectures names.",
                "keep their pods on nodes of another kind, or name builds of your own in image_mirror_overrides.",
            )


def _names(entries: Sequence[Entry]) -> str:
    return ", ".join(sorted(item.source for item in entries))
