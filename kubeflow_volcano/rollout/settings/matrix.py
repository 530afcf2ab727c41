"""Which versions are compatible: release, Volcano, kustomize, training operator, scheduler-plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO, made_by_operators
from kubeflow_volcano.catalog.model import Component, Release, version_key
from kubeflow_volcano.problems import InvalidInput, Problem


def validate_versions(release: Release, volcano: Component, kustomize_version: str) -> Iterator[Problem]:
    """Incompatible pairs of versions, each with the nearest compatible one.

    A Volcano with an entry of the user counts as compatible with every release.
    """
    if volcano.version not in release.volcano_versions and not volcano.entry:
        yield Problem(
            f"volcano_version is {volcano.version}, kubeflow_release is {release.version}.",
            f"a Volcano that is compatible with the release: {', '.join(release.volcano_versions)}.",
            f'set volcano_version: "{_nearest(release.volcano_versions, volcano.version)}".',
        )
    if version_key(kustomize_version)[0] < version_key(release.kustomize_version)[0]:
        yield Problem(
            f"kustomize_version is {kustomize_version}, kubeflow_release is {release.version}.",
            f"kustomize {release.kustomize_version} or another of that major version.",
            f'set kustomize_version: "{release.kustomize_version}", or remove it.',
        )


def fitting_plugins(kubernetes: str, release: Release | None) -> str:
    """The version of scheduler-plugins for that Kubernetes ("1.30"), or for the newest that upstream tested.

    It is the oldest compatible one, as a scheduler may not be newer than its API server.
    """
    wanted = kubernetes or (release.kubernetes_tested if release else "")
    name = SCHEDULER_PLUGINS.name
    known = [read.load_component(name, version) for version in read.versions_of(name)]
    fit = [item.version for item in known if wanted and item.kubernetes and item.kubernetes.covers(wanted)]
    older = bool(wanted and known[0].kubernetes and not known[0].kubernetes.is_exceeded_by(wanted))
    return fit[0] if fit else known[0 if older else -1].version


def validate_operator(scheduler: str, release: Release, chosen: Sequence[Component]) -> Iterator[Problem]:
    """The problem of a chosen training operator that does not support that gang scheduler."""
    if any(part.name == "training-operator" for part in chosen):
        yield from _unsupported(scheduler, release.components["training-operator"].version)


def require_operator(scheduler: str, operator_version: str) -> None:
    """Check that a training operator of that version supports that gang scheduler.

    Raises:
        InvalidInput: it does not.
    """
    if problems := [*_unsupported(scheduler, operator_version)]:
        raise InvalidInput(problems)


def _unsupported(scheduler: str, operator_version: str) -> Iterator[Problem]:
    wanted = made_by_operators(scheduler)
    if wanted is None or wanted.is_supported_by(operator_version):
        return
    fit = [name for name in read.releases() if wanted.is_supported_by(read.load_release(name).operator_version)]
    yield Problem(
        f"gang_scheduling_scheduler is {scheduler}, and the training operator is {operator_version}.",
        f"a training operator from {wanted.operator_since} on: 1.6 uses PodGroups of an API group that "
        f"{wanted.title} no longer has, and earlier ones support only Volcano.",
        f'set gang_scheduling_scheduler: {VOLCANO.name}, or kubeflow_release: "{fit[0]}" or a later one.',
    )


def _nearest(versions: tuple[str, ...], wanted: str) -> str:
    """The version that is the fewest releases of Volcano away; of two, the better one for the release."""
    known = read.versions_of(VOLCANO.name)
    return min(versions, key=lambda name: abs(known.index(name) - known.index(wanted)))
