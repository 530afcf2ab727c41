"""Which versions are compatible: release, Volcano, kustomize, training operator, scheduler-plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import VOLCANO, gang_scheduler
from kubeflow_volcano.catalog.model import Component, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["fitting_plugins", "misfits", "require_operator", "strange_gang"]


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


def _nearest(versions: tuple[str, ...], wanted: str) -> str:
    """The version that is fewest releases of Volcano away; of two, the one that is better for the release."""
    known = read.volcano_versions()
    return min(versions, key=lambda name: abs(known.index(name) - known.index(wanted)))
