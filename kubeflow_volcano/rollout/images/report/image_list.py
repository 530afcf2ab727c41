"""The list of images: for people, for programs, and for tools that copy images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from kubeflow_volcano.catalog.images.mirrors import mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.rename.rewrite import ImageUse, Rewritten
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.images.report.entry import Entry
from kubeflow_volcano.rollout.images.report.judge import judge, own_list
from kubeflow_volcano.rollout.images.report.lost import lost_images, may_be_kept
from kubeflow_volcano.rollout.settings.images import MirrorSettings
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import counted


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
            "problems": [problem.as_dict() for problem in self.problems],
            "warnings": [problem.as_dict() for problem in self.warnings],
        }

    @property
    def registries(self) -> list[str]:
        """The registries that nodes pull from."""
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
    """The images of a roll-out with all that is known about them; no registry is asked.

    Raises:
        InvalidInput: the inventory's allow-list cannot be used.
    """
    listed = own_list(settings.mirror)
    uses = (*rewritten.images, *_of_probes(settings.mirror, {use.original for use in rewritten.images}))
    entries = tuple(Entry(use, judge(use, listed, settings.plan.architectures)) for use in sorted(uses, key=_name))
    gone = [item for item in entries if item.judgement.gone]
    refused = () if settings.mirror.allow_gone else lost_images(gone, settings)
    return ImagesReport(
        entries=entries,
        problems=(*rewritten.problems, *refused),
        warnings=(*rewritten.warnings, *_judged(entries, settings)),
        documentation=tuple(dict.fromkeys(f"{item.text} in {item.ref} {item.site}" for item in rewritten.idle)),
    )


def why_unavailable(entry: Entry, settings: Settings) -> str:
    """Why an image cannot be pulled, as far as is known without asking; empty if nothing is known.

    One's own registry may have an image that is gone everywhere else, so it is asked.
    """
    if settings.registry.address:
        return ""
    if entry.judgement.gone:
        return "gone upstream"
    return "not on the mirror's list" if entry.judgement.served is False else ""


def crowded(report: ImagesReport, nodes: int) -> Iterator[Problem]:
    """The problem of several nodes that pull the same images from a known mirror, which bans their address."""
    images = (ImageName.parse(entry.use.mirrored) for entry in report.entries if entry.use.covered)
    mirrors = {mirror.title for image in images if image and (mirror := mirror_of(image))}
    if mirrors and nodes > 1:
        yield Problem(
            f"{nodes} nodes pull the same images from {', '.join(sorted(mirrors))}.",
            "one puller per public mirror: repeated pulls of an image get the address banned.",
            "copy the images into your own registry once (image_mirror_mode: registry), and let nodes pull from there.",
        )


def _name(use: ImageUse) -> str:
    return use.original


def _of_probes(mirror: MirrorSettings, others: Collection[str]) -> Iterator[ImageUse]:
    """The images of the validation's own pods, unless a manifest names them, too."""
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
    gone = [
        item for item in entries if item.judgement.gone and (settings.mirror.allow_gone or may_be_kept(item, settings))
    ]
    if gone:
        evidence = "; ".join(dict.fromkeys(item.judgement.gone for item in gone))
        yield Problem(
            f"{counted(len(gone), 'image')} known to be gone from the registry ({evidence}): {_names(gone)}.",
            "images that can be pulled: by nodes that have them, or from a registry that kept them.",
            "make sure that it is so, name your own copies in image_mirror_overrides, or exclude their components "
            "(kubeflow_exclude).",
        )
    if refused := [item for item in entries if item.judgement.served is False]:
        yield Problem(
            f"{counted(len(refused), 'image')} missing from the allow-list of the mirror: {_names(refused)}.",
            "images on the mirror's list; it answers 403 to others, and bans addresses that request them often.",
            "put a rule for each before the others in image_mirror_rules, or name overrides that the mirror serves.",
        )
    for architecture in settings.plan.architectures:
        lacking = [item for item in entries if architecture in item.judgement.missing]
        if lacking:
            yield Problem(
                f"{counted(len(lacking), 'image')} known not to be built for {architecture}: {_names(lacking)}.",
                f"images for {architecture}, which plan_architectures lists.",
                "schedule their pods on other nodes, or name your own builds in image_mirror_overrides.",
            )


def _names(entries: Sequence[Entry]) -> str:
    return ", ".join(sorted(item.source for item in entries))
