"""Images that no registry is known to have: refused before the first change, in one list with the ways out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.catalog.images.lost import whole_releases
from kubeflow_volcano.catalog.images.mirrors import mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.report.entry import Entry
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import counted


def may_be_kept(entry: Entry, settings: Settings) -> bool:
    """Whether a registry of one's own, or a mirror that the catalog does not know, may have kept the image."""
    mirrored = ImageName.parse(entry.use.mirrored)
    elsewhere = entry.use.covered and mirrored is not None and mirror_of(mirrored) is None
    return bool(settings.registry.address) or elsewhere


def lost_images(gone: Sequence[Entry], settings: Settings) -> Iterator[Problem]:
    """The problem of the images in `gone` that nothing can have kept; nothing where there are none."""
    lost = [entry for entry in gone if not may_be_kept(entry, settings)]
    if not lost:
        return
    evidence = "; ".join(dict.fromkeys(entry.judgement.gone for entry in lost))
    names = ", ".join(sorted(entry.source for entry in lost))
    yield Problem(
        f"{counted(len(lost), 'image')} gone from the registry without a replacement ({evidence}): {names}.",
        "images that nodes can pull.",
        "; or ".join(_ways_out(lost, settings)) + ".",
    )


def _ways_out(lost: Iterable[Entry], settings: Settings) -> Iterator[str]:
    if not settings.mirror.catalog_overrides:
        yield "set image_mirror_catalog_overrides: true"
    owners = _with_users({name for entry in lost for name in entry.use.components}, settings)
    yield f"set kubeflow_exclude: [{', '.join(owners)}]"
    whole = [version for version in reversed(whole_releases()) if version != settings.release.version]
    yield f"take kubeflow_release {', '.join(whole)}"
    yield "name copies in image_mirror_overrides"
    yield "set image_mirror_allow_gone: true if nodes have the images"


def _with_users(names: Iterable[str], settings: Settings) -> Sequence[str]:
    """These components and those that require one of them, in roll-out order."""
    found = {*names}
    for part in settings.components:  # what a component requires comes before it
        if found & {*part.requires}:
            found.add(part.name)
    return [part.name for part in settings.components if part.name in found] or sorted(found)
