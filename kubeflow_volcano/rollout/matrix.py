"""Whether the chosen versions fit the Kubernetes that is there; known only once connected, still before any change."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component, MinorRange, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings import Settings

__all__ = ["require_kubernetes"]


def require_kubernetes(settings: Settings, git_version: str) -> None:
    """See that the release and its components are made for this Kubernetes ("v1.30.2").

    Raises:
        InvalidInput: they are not; names the nearest release and Volcano that are.
    """
    parts = [part for part in settings.components if part.kubernetes]
    stated: list[tuple[str, MinorRange]] = [(f"Kubeflow {settings.release.version}", settings.release.kubernetes)]
    stated += [(f"{part.title} {part.version}", part.kubernetes) for part in parts if part.kubernetes]
    misfits = [(name, limits) for name, limits in stated if not limits.covers(git_version)]
    if misfits:
        raise InvalidInput(
            Problem(
                f"Kubernetes {git_version}, and {name} is made for {limits}.",
                f"versions that go together; these fit all that is chosen: Kubernetes {_common(stated)}.",
                _way_out(settings, git_version),
            )
            for name, limits in misfits
        )


def _common(stated: list[tuple[str, MinorRange]]) -> str:
    low = max((limits.low for _, limits in stated), key=version_key)
    highs = [limits.high for _, limits in stated if limits.high]
    high = min(highs, key=version_key) if highs else None
    if high and version_key(high) < version_key(low):
        return "none"
    return str(MinorRange(low, high))


def _fitting(git_version: str) -> Iterator[tuple[Release, Component]]:
    for version in read.releases():
        release = read.load_release(version)
        for name in release.volcano_versions:
            volcano = read.load_volcano(name)
            if release.kubernetes.covers(git_version) and (
                volcano.kubernetes is None or volcano.kubernetes.covers(git_version)
            ):
                yield release, volcano


def _way_out(settings: Settings, git_version: str) -> str:
    known = read.releases()
    place = known.index(settings.release.version)
    pairs = sorted(_fitting(git_version), key=lambda pair: abs(known.index(pair[0].version) - place))
    if not pairs:
        return "bring the cluster to one of those versions; the catalog has no other pair for this one."
    release, volcano = pairs[0]
    return f'set kubeflow_release: "{release.version}" and volcano_version: "{volcano.version}".'
