"""The images of a roll-out in the form in which nodes pull them."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.images.mirrors import mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.report.image_list import Entry, ImagesReport
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["crowded", "why_not"]


def why_not(entry: Entry, settings: Settings) -> str:
    """What is known against pulling an image, empty where nothing is.

    An own registry may have kept what is gone everywhere else; it is asked.
    """
    if settings.registry.address:
        return ""
    if entry.judgement.gone:
        return "gone upstream"
    return "not on the mirror's list" if entry.judgement.served is False else ""


def crowded(report: ImagesReport, nodes: int) -> Iterator[Problem]:
    """That several nodes would pull the same images from a known mirror, which bans who does that."""
    images = (ImageName.parse(entry.use.mirrored) for entry in report.entries if entry.use.covered)
    mirrors = {mirror.title for image in images if image and (mirror := mirror_of(image))}
    if mirrors and nodes > 1:
        yield Problem(
            f"{nodes} nodes pull the same images from {', '.join(sorted(mirrors))}.",
            "one who pulls from a public mirror, as repeated pulls of an image end in a ban of the address.",
            "fill a registry of your own once and let nodes pull from there: image_mirror_mode: registry.",
        )
