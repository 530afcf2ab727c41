"""Which versions go together: release, Volcano, kustomize, and the Kubernetes that is there.

All but Kubernetes is known from the inventory alone. A Kubernetes older than what a part asks for is refused: the part
uses what is not there. A newer one is refused only where the release is known to fail. What lies outside of what
upstream tested is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO, gang_scheduler
from kubeflow_volcano.catalog.model import Component, MinorRange, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem

if TYPE_CHECKING:
    from kubeflow_volcano.rollout.settings import Settings

__all__ = ["fitting_plugins", "misfits", "require_kubernetes", "require_operator", "strange_gang"]


def misfits(release: Release, volcano: Component, kustomize_version: str) -> Iterator[Problem]:
    """The pairs of an inventory's versions that do not go together, each with the nearest one that does."""
    if volcano.version not in release.volcano_versions:
        yield Problem(
            f"volcano_version is {volcano.version}, kubeflow_release is {release.version}.",
            f"a Volcano that goes with that release: {', '.join(release.volcano_versions)}.",
            f'set volcano_version: "{_nearest(release.volcano_versions, volcano.version)}".',
        )
    if version_key(kustomize_version)[0] < version_key(release.kustomize_version)[0]:
        yield Problem(
            f"kustomize_version is {kustomize_version}, kubeflow_release is {release.version}.",
            f"kustomize {release.kustomize_version} or another of that major version.",
            f'set kustomize_version: "{release.kustomize_version}", or remove it.',
        )


def fitting_plugins(kubernetes: str, release: Release | None) -> str:
    """The version of scheduler-plugins for that Kubernetes ("1.30"), or for the newest that a release was tested with.

    Of those that fit the oldest is taken, because a scheduler may not be newer than its API server.
    """
    wanted = kubernetes or (release.kubernetes_tested if release else "")
    known = [read.load_scheduler_plugins(version) for version in read.scheduler_plugins_versions()]
    fit = [item.version for item in known if wanted and item.kubernetes and item.kubernetes.covers(wanted)]
    older = bool(wanted and known[0].kubernetes and not known[0].kubernetes.exceeded_by(wanted))
    return fit[0] if fit else known[0 if older else -1].version


def strange_gang(scheduler: str, release: Release, chosen: Sequence[Component]) -> Iterator[Problem]:
    """Chosen operators that make no gangs for the scheduler that is asked for."""
    if any(part.name == "training-operator" for part in chosen):
        yield from _strange_operator(scheduler, release.components["training-operator"].version)


def require_operator(scheduler: str, operator_version: str) -> None:
    """See that a training operator of that version makes gangs for the scheduler that is asked for.

    Raises:
        InvalidInput: it does not.
    """
    if problems := [*_strange_operator(scheduler, operator_version)]:
        raise InvalidInput(problems)


def _strange_operator(scheduler: str, operator_version: str) -> Iterator[Problem]:
    wanted = gang_scheduler(scheduler)
    if wanted is None or wanted.goes_with(operator_version):
        return
    fit = [name for name in read.releases() if wanted.goes_with(read.load_release(name).operator_version)]
    yield Problem(
        f"gang_scheduling_scheduler is {scheduler}, and the training operator is {operator_version}.",
        f"a training operator from {wanted.operator_since} on: 1.6 reads PodGroups of a group that "
        f"{wanted.title} serves no more, and earlier ones know Volcano alone.",
        f'set gang_scheduling_scheduler: {VOLCANO.name}, or kubeflow_release: "{fit[0]}" or a later one.',
    )


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


def _nearest(versions: tuple[str, ...], wanted: str) -> str:
    """The version that is fewest releases of Volcano away; of two, the one that is better for the release."""
    known = read.volcano_versions()
    return min(versions, key=lambda name: abs(known.index(name) - known.index(wanted)))
