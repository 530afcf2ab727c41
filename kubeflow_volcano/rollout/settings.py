"""The inventory's variables, checked whole, become one frozen value. Nothing later reads raw variables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.shape import PREFIXES, shaped

__all__ = ["PREFIXES", "Settings", "parse"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the roll-out is asked to bring about.

    `sources` holds what the inventory says or upstream's address, by component; a component without either is absent.
    """

    kubeconfig: Path | None
    context: str | None
    release: Release
    components: tuple[Component, ...]
    sources: Mapping[str, str]
    wait_timeout_seconds: int
    volcano: Component
    local_path: Component
    local_path_base_directory: str
    storage_mode: str
    gang_scheduler: str
    kustomize: Path
    cache_directory: Path

    def component(self, name: str) -> Component:
        """The component of that name, chosen or not.

        Raises:
            InvalidInput: neither the release nor the catalog has it.
        """
        return read.components(self.release, (name,), self.volcano.version, self.local_path.version)[-1]

    def requirements(self, component: Component) -> tuple[Component, ...]:
        """What must be there before `component`, in order; without gang scheduling nothing needs Volcano."""
        found = read.components(self.release, (component.name,), self.volcano.version, self.local_path.version)[:-1]
        return tuple(item for item in found if item.name != "volcano" or self.gang_scheduler == "volcano")


def parse(variables: Mapping[str, Any]) -> Settings:
    """Check the public variables among `variables` and complete them with defaults; other names are ignored.

    Raises:
        InvalidInput: every wrong name, type, value and combination, at once.
    """
    values, problems = shaped(variables)
    settings, more = _relate(values)
    problems += more
    if problems or settings is None:
        raise InvalidInput(problems)
    return settings


def _relate(values: Mapping[str, Any]) -> tuple[Settings | None, list[Problem]]:
    """The settings of well-shaped values, or what does not go together in them."""
    problems: list[Problem] = []
    loaded: list[Any] = []
    for load, name in (
        (read.load_release, "kubeflow_release"),
        (read.load_volcano, "volcano_version"),
        (read.load_local_path, "local_path_version"),
    ):
        try:
            loaded.append(load(values[name]))
        except InvalidInput as error:
            problems += [Problem(f"{name}: {item.found}", item.needed, item.todo) for item in error.problems]
    if problems:
        return None, problems
    release, volcano, local_path = loaded
    if volcano.version not in release.volcano_versions:
        problems.append(_pair(release, volcano.version))
    chosen: tuple[Component, ...] = ()
    try:
        chosen = _chosen(values, release, volcano, local_path)
    except InvalidInput as error:
        problems += error.problems
    problems += _strange_sources(values["kubeflow_sources"], release)
    if problems:
        return None, problems
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "kubeflow-volcano"
    tools = Path(values["kustomize_cache_directory"] or home / "kustomize").expanduser()
    version = values["kustomize_version"] or release.kustomize_version
    settings = Settings(
        kubeconfig=Path(values["kubeflow_kubeconfig"]).expanduser() if values["kubeflow_kubeconfig"] else None,
        context=values["kubeflow_context"] or None,
        release=release,
        components=chosen,
        sources=_sources(values, release, volcano, local_path),
        wait_timeout_seconds=values["kubeflow_wait_timeout_seconds"],
        volcano=volcano,
        local_path=local_path,
        local_path_base_directory=values["local_path_base_directory"],
        storage_mode=values["local_path_storage_mode"],
        gang_scheduler=values["gang_scheduling_scheduler"],
        kustomize=Path(values["kustomize_binary"] or tools / version / "kustomize").expanduser(),
        cache_directory=home,
    )
    return settings, []


def _chosen(
    values: Mapping[str, Any], release: Release, volcano: Component, local_path: Component
) -> tuple[Component, ...]:
    """The components to roll out; without gang scheduling Volcano is only one of them where it is named."""
    wanted: str | Sequence[str] = values["kubeflow_components"] or values["kubeflow_profile"]
    chosen = read.components(release, wanted, volcano.version, local_path.version)
    named = release.profiles[wanted] if isinstance(wanted, str) else wanted
    if values["gang_scheduling_scheduler"] == "none" and "volcano" not in named:
        return tuple(part for part in chosen if part.name != "volcano")
    return chosen


def _pair(release: Release, volcano: str) -> Problem:
    return Problem(
        f"volcano_version is {volcano}, kubeflow_release is {release.version}.",
        f"a Volcano that goes with that release: {', '.join(release.volcano_versions)}.",
        f'set volcano_version: "{release.volcano_versions[0]}".',
    )


def _strange_sources(given: Mapping[str, str], release: Release) -> Iterator[Problem]:
    for name in given:
        if name in {"volcano", "local-path"}:
            variable = name.replace("-", "_") + "_source"
            yield Problem(
                f"kubeflow_sources.{name}.",
                f"the source of {name} in the variable {variable}.",
                f"move the value to {variable}.",
            )
        elif name not in release.components:
            yield Problem(
                f"kubeflow_sources.{name}, which is no component.{read.nearest(name, release.components)}",
                f"one of: {', '.join(sorted(release.components))}.",
                "correct the name, or remove the entry.",
            )


def _sources(
    values: Mapping[str, Any], release: Release, volcano: Component, local_path: Component
) -> Mapping[str, str]:
    upstream = {part.name: part.address for part in (volcano, local_path, *release.components.values())}
    given = {"volcano": values["volcano_source"], "local-path": values["local_path_source"]}
    merged = {**upstream, **{name: text for name, text in {**values["kubeflow_sources"], **given}.items() if text}}
    return {name: text for name, text in merged.items() if text}
