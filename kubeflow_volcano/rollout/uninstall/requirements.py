"""What an uninstallation refuses before its first change: components that others need, and names that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kubeflow_volcano.apply.compare import own_entry
from kubeflow_volcano.apply.graph import closure
from kubeflow_volcano.apply.removing.wording import kubectl
from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Brought
from kubeflow_volcano.cluster.namespaces import obstacles
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.account.stores import SECRETS
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.text import did_you_mean, few

T = TypeVar("T")


def brought_components(settings: Settings, inventory: Mapping[str, Brought]) -> dict[str, Component]:
    """The components that the inventory records, as the release has them that last brought each."""
    found: dict[str, Component] = {}
    for name, brought in inventory.items():
        part = _component(settings, name, brought.version) if brought.objects else None
        if part:
            found[name] = part
    return found


def unknown_components(settings: Settings, inventory: Mapping[str, Brought]) -> Iterator[Problem]:
    """Names of components to remove that neither the inventory nor the release knows."""
    known = {*inventory, *settings.release.components, *read.OWN_FILES}
    for name in settings.uninstall.components:
        if name not in known:
            yield Problem(
                f"uninstall_components: {name}, which is no component.{did_you_mean(name, known)}",
                f"one that a roll-out brought: {', '.join(sorted(inventory)) or 'there is none'}.",
                "correct the name, or remove it.",
            )


def dependents(settings: Settings, brought: Mapping[str, Component]) -> Iterator[Problem]:
    """Components to remove that others need, which stay."""
    chosen = settings.uninstall.components
    users: dict[str, list[str]] = {}
    needs = {name: _requirements(settings, part, brought) for name, part in brought.items()}
    for name in brought:
        if name not in chosen:
            for need in closure(name, needs) & set(chosen):
                users.setdefault(need, []).append(name)
    if not users:
        return
    whole = [name for name in brought if name in chosen or any(name in found for found in users.values())]
    uses = "; ".join(f"{need} is needed by {few(sorted(found), 20)}" for need, found in sorted(users.items()))
    yield Problem(
        f"{uses}, which would stay.",
        "a component that no other one needs.",
        f"remove them, too: uninstall_components: [{', '.join(whole)}]; or leave uninstall_components empty to remove "
        "the whole.",
    )


def running(jobs: Sequence[Ref], pods: Mapping[str, Sequence[str]]) -> Problem | None:
    """Jobs that run, and unfinished `pods` by their scheduler that goes; None without any."""
    running = [str(ref) for ref in jobs] + [
        f"{pod} (scheduler {name})" for name, names in pods.items() for pod in names
    ]
    if not running:
        return None
    return Problem(
        f"jobs and pods that run: {few(running, 10)}.",
        "no running job while its operator and scheduler are removed: running pods go on without them, pending ones "
        "stay so, and none is restarted or cleaned up.",
        "wait until they have ended, delete or suspend them, or set uninstall_running_jobs: allow.",
    )


def unrecorded(cluster: Cluster, settings: Settings, inventory: Mapping[str, Brought]) -> Iterator[Problem]:
    """Components to remove that are on the cluster, while no run has recorded which objects are theirs.

    Raises:
        ApiError: the API server does not answer.
    """
    for name in settings.uninstall.components:
        if name in inventory:
            continue
        part = _component(settings, name, "")
        marks = part.central if part else ()
        live = [ref for ref in marks if (obj := cluster.get(ref)) and own_entry(obj)]
        if live:
            yield Problem(
                f"{name} is on the cluster ({few(list(map(str, live)), 3)}), but no run has recorded its objects.",
                "the record of a roll-out, which says which objects are its own.",
                "finish the installation (playbooks/install.yml), which records them, and run again; or leave "
                "uninstall_components empty to remove the whole.",
            )


def foreign_data(cluster: Cluster, ours: Collection[Stale], named: Sequence[str]) -> Iterator[Problem]:
    """Data to remove that no roll-out brought.

    Raises:
        ApiError: the API server does not answer.
    """
    known = {str(item.ref) for item in ours}
    for text in named:
        kind, _, name = text.partition(" ")
        if text in {*known, *map(str, SECRETS)}:
            continue
        namespace, _, own = name.rpartition("/")
        ref = Ref("kubeflow.org/v1" if kind == "Profile" else "v1", kind, namespace, own)
        if cluster.get(ref):
            yield Problem(
                f"uninstall_data: {text}, which no roll-out brought.",
                "data of this project: what others made is never deleted.",
                f"remove it from uninstall_data; if it is not needed, kubectl delete {kubectl(ref)}",
            )


def lasting_namespaces(cluster: Cluster, going: Collection[Stale]) -> Iterator[Problem]:
    """What would keep the namespaces that are to go from being deleted, and does not go itself."""
    spaces = {item.ref.name: item.live for item in going if item.ref.kind == "Namespace"}
    leaving = {item.ref for item in going}
    for item in obstacles(cluster, list(spaces.values())) if spaces else ():
        if item.cause not in leaving:
            yield Problem(
                f"{item.found}; {few(sorted(spaces), 4)} would stay in deletion, and nothing could be installed there.",
                "a cluster that deletes namespaces.",
                f"{item.todo.rstrip('.')}; then run again.",
            )


def _component(settings: Settings, name: str, version: str) -> Component | None:
    if name in read.INDEPENDENT:
        own = {part.name: part for part in (settings.volcano, settings.local_path, settings.scheduler_plugins)}
        return _loaded(partial(read.load_component, name), version) or own[name]
    release = settings.release if version == settings.release.version else _loaded(read.load_release, version)
    return read.with_operator(release or settings.release).components.get(name)


def _loaded(load: Callable[[str], T], version: str) -> T | None:
    try:
        return load(version) if version else None
    except InvalidInput:
        return None


def _requirements(settings: Settings, part: Component, brought: Mapping[str, Component]) -> set[str]:
    """Names of the components that it needs itself, among those that are there."""
    unused = {VOLCANO.name} if settings.gang_scheduler == "none" else set()
    return {*map(settings.stands_in, part.requires)} & brought.keys() - unused
