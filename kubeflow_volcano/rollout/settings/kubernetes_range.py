"""Which Kubernetes the release and the components support.

A Kubernetes below the range of a component is refused. One above it is refused only where the release is known to
fail. A version that upstream did not test is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import MinorRange, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.matrix import fitting_plugins
from kubeflow_volcano.rollout.settings.settings import Settings


def require_kubernetes(settings: Settings, git_version: str) -> tuple[str, ...]:
    """Check that the release and its components support this Kubernetes ("v1.30.2"), and return warnings.

    Raises:
        InvalidInput: they do not; the message has each incompatible pair, and the nearest release and Volcano that
            support it.
    """
    release = settings.release
    own = (f"Kubeflow {release.version}", release.kubernetes)
    parts = [(f"{part.title} {part.version}", part.kubernetes) for part in settings.components if part.kubernetes]
    stated = [own, *parts]
    newer = [(name, limits) for name, limits in parts if limits.is_exceeded_by(git_version)]
    if failing := [pair for pair in stated if pair not in newer and not pair[1].covers(git_version)]:
        raise InvalidInput(
            Problem(
                f"Kubernetes {git_version}, and {name} supports {limits}.",
                f"compatible versions; {_common(own[1], parts)}.",
                _way_out(settings, git_version),
            )
            for name, limits in failing
        )
    return (
        *_untested(release, git_version),
        *(f"Kubernetes {git_version} is newer than {name} supports ({limits})." for name, limits in newer),
    )


def _untested(release: Release, git_version: str) -> Iterator[str]:
    tested = release.kubernetes_range_tested
    if not tested.covers(git_version):
        side = "newer" if tested.is_exceeded_by(git_version) else "older"
        yield (
            f"Kubernetes {git_version} is {side} than what upstream tested Kubeflow {release.version} with ({tested})."
        )


def _common(own: MinorRange, parts: Sequence[tuple[str, MinorRange]]) -> str:
    """The versions that are not refused: above the range of a component is only a warning."""
    lowest = max((own.lowest, *(limits.lowest for _, limits in parts)), key=version_key)
    if own.highest and version_key(own.highest) < version_key(lowest):
        return "no Kubernetes is supported by all chosen components"
    return f"all chosen components support Kubernetes {MinorRange(lowest, own.highest)}"


def _way_out(settings: Settings, git_version: str) -> str:
    """The nearest release for that Kubernetes, preferably a tested one, and the best of its Volcano versions.

    Where only scheduler-plugins is incompatible, it is a compatible version of that.
    """
    chosen = {part.name: part.kubernetes for part in settings.components if part.kubernetes}
    plugins = chosen.pop(SCHEDULER_PLUGINS.name, None)
    if plugins and not plugins.covers(git_version) and all(item.covers(git_version) for item in chosen.values()):
        fit = read.load_component(SCHEDULER_PLUGINS.name, fitting_plugins(git_version, None))
        if fit.kubernetes and fit.kubernetes.covers(git_version):
            return f'set scheduler_plugins_version: "{fit.version}".'
        return f"choose another gang_scheduling_scheduler, such as {VOLCANO.name}."
    known = read.releases()
    place = known.index(settings.release.version)
    near = [read.load_release(name) for name in sorted(known, key=lambda name: abs(known.index(name) - place))]
    for release in sorted(near, key=lambda item: not item.kubernetes_range_tested.covers(git_version)):
        volcanoes = [read.load_component(VOLCANO.name, name) for name in release.volcano_versions]
        limits = [(item.version, item.kubernetes) for item in volcanoes if item.kubernetes]
        fitting = [name for name, stated in limits if stated.covers(git_version)]
        fitting += [name for name, stated in limits if stated.is_exceeded_by(git_version)]
        if release.kubernetes.covers(git_version) and fitting:
            return f'set kubeflow_release: "{release.version}" and volcano_version: "{fitting[0]}".'
    return "upgrade or downgrade the cluster to one of those versions; the catalog has no release for this one."
