"""The inventory's variables, checked whole, become one frozen value. Nothing later reads raw variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.decode import OWN_FILES
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import Component, Release, Source
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.account import Account
from kubeflow_volcano.rollout.settings.availability import (
    AvailabilitySettings,
    availability_settings,
    strange_availability,
)
from kubeflow_volcano.rollout.settings.groups import (
    MirrorSettings,
    PlanSettings,
    PodWebhookSettings,
    StorageSettings,
    UserSettings,
    mirror_settings,
    plan_settings,
    pod_webhook_settings,
    storage_settings,
    strange_passwords,
    strange_static,
    user_settings,
)
from kubeflow_volcano.rollout.settings.matrix import fitting_plugins, misfits, strange_gang
from kubeflow_volcano.rollout.settings.scheduling import SchedulingSettings, scheduling_settings, strange_scheduling
from kubeflow_volcano.rollout.settings.shape import PREFIXES, shaped
from kubeflow_volcano.rollout.settings.transport import (
    PullSettings,
    RegistrySettings,
    pull_settings,
    registry_settings,
    strange_registry,
)

__all__ = ["PREFIXES", "Settings", "parse"]

T = TypeVar("T")

_NEWEST = (read.volcano_versions()[-1], read.local_path_versions()[-1])


@dataclass(frozen=True, slots=True)
class Settings:
    """What the roll-out is asked to bring about.

    `source` is the release's archive. `sources` holds what the inventory says or upstream's address, by component or
    by remote source; a component that is taken from the archive is absent.
    """

    kubeconfig: Path | None
    context: str | None
    release: Release
    components: tuple[Component, ...]
    excluded: tuple[str, ...]
    source: str
    sources: Mapping[str, str]
    user: UserSettings
    namespace_labels: Mapping[str, str]
    mirror: MirrorSettings
    pull: PullSettings
    registry: RegistrySettings
    plan: PlanSettings
    wait_timeout_seconds: int
    volcano: Component
    scheduler_plugins: Component
    local_path: Component
    storage: StorageSettings
    gang_scheduler: str
    scheduling: SchedulingSettings
    availability: AvailabilitySettings
    pod_webhooks: PodWebhookSettings
    kustomize: Path
    kustomize_version: str
    own_kustomize: bool
    kustomize_mirrors: tuple[str, ...]
    cache_directory: Path
    account: Account | None = None
    """Known once there is a cluster to ask; see credentials.py."""

    def component(self, name: str) -> Component:
        """The component of that name, chosen or not.

        Raises:
            InvalidInput: neither the release nor the catalog has it.
        """
        return read.components(
            self.release,
            (name,),
            self.volcano.version,
            self.local_path.version,
            scheduler_plugins_version=self.scheduler_plugins.version,
        )[-1]

    def stands_in(self, name: str) -> str:
        """What is installed for those that require `name`: another gang scheduler in Volcano's place."""
        return _instead(self.gang_scheduler).get(name, name)

    def requirements(self, component: Component) -> tuple[Component, ...]:
        """What must be there before `component`, in order."""
        return read.components(
            self.release,
            (component.name,),
            self.volcano.version,
            self.local_path.version,
            scheduler_plugins_version=self.scheduler_plugins.version,
            unneeded=_unneeded(self.gang_scheduler, self.storage.mode),
            instead=_instead(self.gang_scheduler),
        )[:-1]


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
    problems: list[Problem] = [*strange_passwords(values), *strange_registry(values)]
    release = _loaded(read.load_release, "kubeflow_release", values["kubeflow_release"], problems)
    best = (release.volcano_versions[0], release.local_path_version) if release else _NEWEST
    volcano = _loaded(read.load_volcano, "volcano_version", values["volcano_version"] or best[0], problems)
    local_path = _loaded(read.load_local_path, "local_path_version", values["local_path_version"] or best[1], problems)
    plugins = _loaded(
        read.load_scheduler_plugins,
        "scheduler_plugins_version",
        values["scheduler_plugins_version"] or fitting_plugins(values["plan_kubernetes"], release),
        problems,
    )
    if not (release and volcano and local_path and plugins):
        return None, problems
    problems += misfits(release, volcano, values["kustomize_version"] or release.kustomize_version)
    chosen: tuple[Component, ...] = ()
    try:
        chosen = _chosen(values, release, volcano, local_path, plugins)
    except InvalidInput as error:
        problems += error.problems
    storage = storage_settings(values)
    problems += strange_static(storage, chosen) if chosen else ()
    problems += strange_gang(values["gang_scheduling_scheduler"], release, chosen)
    scheduling = scheduling_settings(values)
    problems += strange_scheduling(scheduling, volcano.version, values["gang_scheduling_scheduler"])
    availability = availability_settings(values)
    problems += strange_availability(availability, _training_operator(chosen)) if chosen else ()
    problems += _strange_sources(values["kubeflow_sources"], release)
    problems += _strange_namespace(
        values["kubeflow_user_namespace"], [volcano, plugins, local_path, *release.components.values()]
    )
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
        excluded=tuple(values["kubeflow_exclude"]),
        source=values["kubeflow_source"] or _address(release.source),
        sources=_sources(values, release, volcano, plugins, local_path),
        user=user_settings(values),
        namespace_labels=dict(values["kubeflow_namespace_labels"]),
        mirror=mirror_settings(values),
        pull=pull_settings(values),
        registry=registry_settings(values),
        plan=plan_settings(values, release),
        wait_timeout_seconds=values["kubeflow_wait_timeout_seconds"],
        volcano=volcano,
        scheduler_plugins=plugins,
        local_path=local_path,
        storage=storage,
        gang_scheduler=values["gang_scheduling_scheduler"],
        scheduling=scheduling,
        availability=availability,
        pod_webhooks=pod_webhook_settings(values),
        kustomize=Path(values["kustomize_binary"] or tools / version / "kustomize").expanduser(),
        kustomize_version=version,
        own_kustomize=bool(values["kustomize_binary"]),
        kustomize_mirrors=tuple(values["kustomize_mirrors"]),
        cache_directory=home,
    )
    return settings, []


def _loaded(load: Callable[[str], T], variable: str, version: str, problems: list[Problem]) -> T | None:
    try:
        return load(version)
    except InvalidInput as error:
        problems += [Problem(f"{variable}: {item.found}", item.needed, item.todo) for item in error.problems]
        return None


def _chosen(
    values: Mapping[str, Any], release: Release, volcano: Component, local_path: Component, plugins: Component
) -> tuple[Component, ...]:
    wanted: str | Sequence[str] = values["kubeflow_components"] or values["kubeflow_profile"]
    return read.components(
        release,
        wanted,
        volcano.version,
        local_path.version,
        scheduler_plugins_version=plugins.version,
        excluded=values["kubeflow_exclude"],
        unneeded=_unneeded(values["gang_scheduling_scheduler"], values["local_path_storage_mode"]),
        instead=_instead(values["gang_scheduling_scheduler"]),
    )


def _training_operator(chosen: Iterable[Component]) -> str:
    """Its version; empty where it is not chosen."""
    return next((part.version for part in chosen if part.name == "training-operator"), "")


def _unneeded(gang_scheduler: str, storage_mode: str) -> tuple[str, ...]:
    """What nothing requires: Volcano without gang scheduling, the provisioner where the cluster brings its own."""
    volcano = (VOLCANO.name,) if gang_scheduler == "none" else ()
    return volcano if storage_mode == "local_path" else (*volcano, "local-path")


def _instead(gang_scheduler: str) -> Mapping[str, str]:
    """What takes Volcano's place for those that require a gang scheduler."""
    return {VOLCANO.name: SCHEDULER_PLUGINS.name} if gang_scheduler == SCHEDULER_PLUGINS.name else {}


def _strange_sources(given: Mapping[str, str], release: Release) -> Iterator[Problem]:
    known = {*release.components, *(source.name for source in release.remote_sources)}
    for name in given:
        if name in OWN_FILES:
            variable = name.replace("-", "_") + "_source"
            yield Problem(
                f"kubeflow_sources.{name}.",
                f"the source of {name} in the variable {variable}.",
                f"move the value to {variable}.",
            )
        elif name not in known:
            yield Problem(
                f"kubeflow_sources.{name}, which is no component of {release.version}.{read.nearest(name, known)}",
                f"one of: {', '.join(sorted(known))}.",
                "correct the name, or remove the entry.",
            )


def _strange_namespace(name: str, parts: Iterable[Component]) -> Iterator[Problem]:
    users = [part.title for part in parts if name in part.namespaces]
    if users or name in {"default", "kube-node-lease", "kube-public", "kube-system"}:
        yield Problem(
            f"kubeflow_user_namespace is {name}, the namespace of {', '.join(users) or 'Kubernetes itself'}.",
            "a namespace that belongs to the first user alone.",
            "choose another name.",
        )


def _sources(
    values: Mapping[str, Any], release: Release, volcano: Component, plugins: Component, local_path: Component
) -> Mapping[str, str]:
    upstream = {part.name: part.address for part in (volcano, local_path, *release.components.values())}
    upstream |= {plugins.name: str(read.kept_manifests(plugins))}
    upstream |= {source.name: _address(source) for source in release.remote_sources}
    given = {name: values[f"{name.replace('-', '_')}_source"] for name in OWN_FILES}
    merged = {**upstream, **{name: text for name, text in {**values["kubeflow_sources"], **given}.items() if text}}
    return {name: text for name, text in merged.items() if text}


def _address(source: Source) -> str:
    return f"{source.address}#content-sha256={source.content_sha256}"
