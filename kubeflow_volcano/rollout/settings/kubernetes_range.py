"""Which Kubernetes the chosen release and components are made for.

A Kubernetes older than what a part needs is refused. A newer one is refused only where the release is known to fail.
What lies outside of what upstream tested is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import MinorRange, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.matrix import fitting_plugins
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["require_kubernetes"]


def require_kubernetes(settings: Settings, git_version: str) -> tuple[str, ...]:
    """See that the release and its components are made for this Kubernetes ("v1.30.2"); returns warnings.

    Raises:
        InvalidInput: they are not; names each pair that fails, and the nearest release and Volcano that work.
    """
    release = settings.release
    own = (f"Kubeflow {release.version}", release.kubernetes)
    parts = [(f"{part.title} {part.version}", part.kubernetes) for part in settings.components if part.kubernetes]
    stated = [own, *parts]
    newer = [(name, limits) for name, limits in parts if limits.exceeded_by(git_version)]
    if failing := [pair for pair in stated if pair not in newer and not pair[1].covers(git_version)]:
        raise InvalidInput(
            Problem(
                f"Kubernetes {git_version}, and {name} is made for {limits}.",
                f"versions that go together; all that is chosen can go onto Kubernetes {_common(own[1], parts)}.",
                _way_out(settings, git_version),
            )
            for name, limits in failing
        )
    return (
        *_untested(release, git_version),
        *(f"Kubernetes {git_version} is newer than what {name} was made for ({limits})." for name, limits in newer),
    )


def _untested(release: Release, git_version: str) -> Iterator[str]:
    tested = _tested(release)
    if not tested.covers(git_version):
        side = "newer" if tested.exceeded_by(git_version) else "older"
        yield (
            f"Kubernetes {git_version} is {side} than what upstream tested Kubeflow {release.version} with ({tested})."
        )


def _tested(release: Release) -> MinorRange:
    return MinorRange(release.kubernetes_targeted, release.kubernetes_tested)


def _common(own: MinorRange, parts: Sequence[tuple[str, MinorRange]]) -> str:
    """What is not refused: above the range of a part is only a warning."""
    low = max((own.low, *(limits.low for _, limits in parts)), key=version_key)
    if own.high and version_key(own.high) < version_key(low):
        return "of no version"
    return str(MinorRange(low, own.high))


def _way_out(settings: Settings, git_version: str) -> str:
    """The nearest release that works there, if possible one that was tested there, and the best of its Volcanoes.

    Where only scheduler-plugins does not fit, it is the version of that which does.
    """
    chosen = {part.name: part.kubernetes for part in settings.components if part.kubernetes}
    plugins = chosen.pop(SCHEDULER_PLUGINS.name, None)
    if plugins and not plugins.covers(git_version) and all(item.covers(git_version) for item in chosen.values()):
        fit = read.load_scheduler_plugins(fitting_plugins(git_version, None))
        if fit.kubernetes and fit.kubernetes.covers(git_version):
            return f'set scheduler_plugins_version: "{fit.version}".'
        return f"choose another gang_scheduling_scheduler, such as {VOLCANO.name}."
    known = read.releases()
    place = known.index(settings.release.version)
    near = [read.load_release(name) for name in sorted(known, key=lambda name: abs(known.index(name) - place))]
    for release in sorted(near, key=lambda item: not _tested(item).covers(git_version)):
        volcanoes = [read.load_volcano(name) for name in release.volcano_versions]
        limits = [(item.version, item.kubernetes) for item in volcanoes if item.kubernetes]
        fitting = [name for name, stated in limits if stated.covers(git_version)]
        fitting += [name for name, stated in limits if stated.exceeded_by(git_version)]
        if release.kubernetes.covers(git_version) and fitting:
            return f'set kubeflow_release: "{release.version}" and volcano_version: "{fitting[0]}".'
    return "bring the cluster to one of those versions; the catalog has no release for this one."
