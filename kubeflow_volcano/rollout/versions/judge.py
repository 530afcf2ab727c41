"""Whether the installed versions may be upgraded to those of the settings in one step, by the catalog's edges. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.edges import Edge, Step, edge_between, path_between, steps_between
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import few

_CONFIRMED = "kubeflow_upgrade_confirmed"


def require_upgrade(
    settings: Settings,
    scope: Scope,
    installed: Mapping[str, str],
    *,
    remaining: Mapping[str, Collection[Ref]] = MappingProxyType({}),
    operator: str = "",
    check: bool = False,
) -> tuple[str, ...]:
    """Check that the run is an installation or an upgrade in one step; returns what the upgrade brings, for people.

    `installed` has the version of each component on the cluster, `remaining` the objects of those of which an
    uninstallation left no more. `operator` is the version of the training operator that runs: a release is recorded for
    it, and `training_operator_version` changes it within one. Check mode describes what has to be confirmed.

    Raises:
        InvalidInput: a version goes back, a step between is left out, or a step by hand is not confirmed.
    """
    notes: list[str] = []
    problems = [*_volcano_problems(settings, scope, installed)]
    for origin in sorted(_origins(settings, scope, installed), key=version_key):
        edge = edge_between(origin, settings.release.version)
        if edge is None:
            there = [name for name, version in installed.items() if version == origin]
            left = [ref for name in there for ref in remaining.get(name, ())]
            problems.append(_no_edge(origin, settings.release.version, left if set(there) <= remaining.keys() else []))
            continue
        present = {name for name, version in installed.items() if version == origin}
        for step in steps_for(edge, present, settings):
            if operator and step.component == COMPONENT and step not in edge.judged:
                continue  # those of the version that runs follow below
            if step.confirm and step.id not in settings.upgrade_confirmed and not check:
                problems.append(_unconfirmed(edge, step))
            else:
                notes.append(f"upgrade from {origin} to {edge.target}: {describe_step(step, prunes=settings.prune)}")
    if problems:
        raise InvalidInput(problems)
    own = {name: version for name, version in installed.items() if name in read.INDEPENDENT}
    return (*notes, *_own_notes(settings, scope, own | {COMPONENT: operator}))


def steps_for(edge: Edge, present: Collection[str], settings: Settings) -> Iterator[Step]:
    """The steps of an upgrade of the `present` components to those of the settings."""
    chosen = {part.name for part in settings.components}
    for step in edge.steps:
        if step.component in {*present} - {*settings.existing} and (step.component in chosen) == (step.when == "kept"):
            yield step


def describe_step(step: Step, *, prunes: bool = False) -> str:
    """A step in one line; `prunes`: whether the run removes what is left."""
    todo = step.pruning if prunes and step.pruning else step.todo
    confirmed = f" Then set {_CONFIRMED}: [{step.id}]." if step.confirm else ""
    return f"{step.title}. {step.consequence} Do: {todo.removesuffix('.')}.{confirmed}"


def _origins(settings: Settings, scope: Scope, installed: Mapping[str, str]) -> set[str]:
    """The releases from which this run leads to that of the settings.

    Components that an earlier upgrade left behind do not count, unless the run replaces all that is installed.
    """
    of_release = {name: version for name, version in installed.items() if name not in read.INDEPENDENT}
    kept = {of_release[part.name] for part in scope.parts if part.name in of_release}
    if not kept and {part.name for part in settings.components} <= {part.name for part in scope.parts}:
        kept = {max(of_release.values(), key=version_key)} if of_release else set()
    return kept - {settings.release.version}


def _no_edge(origin: str, target: str, left: Sequence[Ref]) -> Problem:
    """`left` are the objects that an uninstallation of the whole left; empty where it is installed."""
    found = f"Kubeflow {origin} is installed, and kubeflow_release is {target}."
    if left:
        names = few([str(ref) for ref in left])
        found = f"Kubeflow {origin} is uninstalled but for {names}, and kubeflow_release is {target}."
    path = path_between(origin, target)
    if not path:
        return Problem(
            found,
            f"{origin} or a later release; databases and the stored versions of CRDs do not go back.",
            f'set kubeflow_release: "{origin}".',
        )
    steps = ", ".join(f"{version} (Kubernetes {read.load_release(version).kubernetes})" for version in path)
    return Problem(
        found,
        f"one step at a time: {steps}.",
        f'set kubeflow_release: "{path[0]}" and run playbooks/upgrade.yml; then go on by {", ".join(path[1:])}.',
    )


def _unconfirmed(edge: Edge, step: Step) -> Problem:
    return Problem(
        f"Kubeflow {edge.origin} is installed, and {edge.target} brings: {step.title}. {step.consequence}",
        f"this step by hand, and its name in {_CONFIRMED}.",
        f"{step.todo}; then set {_CONFIRMED}: [{step.id}].",
    )


def _volcano_problems(settings: Settings, scope: Scope, installed: Mapping[str, str]) -> Iterator[Problem]:
    present, wanted = installed.get(VOLCANO.name), settings.volcano.version
    if settings.volcano in scope.parts and present and version_key(present) > version_key(wanted):
        fits = present in settings.release.volcano_versions
        yield Problem(
            f"Volcano {present} is installed, and volcano_version is {wanted}.",
            f"Volcano {present} or later; its objects may have fields that {wanted} does not know.",
            f'set volcano_version: "{present}".'
            if fits
            else f"choose a kubeflow_release that is compatible with Volcano {present} (docs/releases.md).",
        )


def _own_notes(settings: Settings, scope: Scope, versions: Mapping[str, str]) -> Iterator[str]:
    """What upgrades of components with entries of their own bring, by these entries; `versions` run now."""
    for part in scope.components:
        present = versions.get(part.name)
        if not present or present == part.version:
            continue
        upgrade = f"upgrade of {part.title} from {present} to {part.version}"
        yield upgrade
        if present not in read.versions_of(part.name):
            yield f"{upgrade}: no entry of the catalog describes {present}, so that what changes is not known"
            continue
        for step in steps_between({part.name: read.load_component(part.name, present)}, {part.name: part}):
            yield f"{upgrade}: {describe_step(step, prunes=settings.prune)}"
