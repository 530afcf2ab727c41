"""The scope of a run: the whole installation, or the part of some roles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.rollout.gang.wiring import OPERATORS
from kubeflow_volcano.rollout.settings.settings import Settings

_OF_ROLES = {
    "local_path": "local-path",
    "volcano": VOLCANO.name,
    "scheduler_plugins": SCHEDULER_PLUGINS.name,
}
"""Roles that roll out one component each."""

ROLES = (*_OF_ROLES, "kubeflow", "gang_scheduling")
"""The roles whose components a run can roll out; `kubeflow` has all components that no other role has."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Components that a run rolls out whole, in order; of the `wired` operators it applies the gang wiring only."""

    components: tuple[Component, ...]
    wired: tuple[Component, ...] = ()

    @property
    def parts(self) -> tuple[Component, ...]:
        """All components whose objects the run applies."""
        return *self.components, *self.wired


def scope_of(settings: Settings, roles: Collection[str] = ROLES) -> Scope:
    """The scope of these roles. In other storage modes than local_path, role `local_path` has the static volumes."""
    by_role = {component: role for role, component in _OF_ROLES.items()}
    chosen = [part for part in settings.components if by_role.get(part.name, "kubeflow") in roles]
    if "local_path" in roles and settings.storage.mode != "local_path":
        chosen.insert(0, settings.component("local-path"))
    wired = [part for part in settings.components if part.name in OPERATORS and part not in chosen]
    once = tuple({part.name: part for part in chosen}.values())
    return Scope(once, tuple(wired) if "gang_scheduling" in roles else ())
