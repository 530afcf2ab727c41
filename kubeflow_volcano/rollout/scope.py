"""Which part of an installation one run rolls out: all of it, or the part of some roles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.rollout.gang.wiring import OPERATORS
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["ROLES", "Scope", "scope_of"]

_OF_ROLES = {
    "local_path": "local-path",
    "volcano": VOLCANO.name,
    "scheduler_plugins": SCHEDULER_PLUGINS.name,
}
"""Roles that bring one component each."""

ROLES = (*_OF_ROLES, "kubeflow", "gang_scheduling")
"""The roles whose work a roll-out does; `kubeflow` brings the components that no other role brings."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The components that a run rolls out whole, in order, and operators of which it applies the gang wiring only."""

    components: tuple[Component, ...]
    wired: tuple[Component, ...] = ()

    @property
    def parts(self) -> tuple[Component, ...]:
        """All components of which the run applies objects."""
        return *self.components, *self.wired


def scope_of(settings: Settings, roles: Collection[str] = ROLES) -> Scope:
    """The scope of some roles' work. Where storage is not the provisioner's, `local_path` judges and makes volumes."""
    by_role = {component: role for role, component in _OF_ROLES.items()}
    chosen = [part for part in settings.components if by_role.get(part.name, "kubeflow") in roles]
    if "local_path" in roles and settings.storage.mode != "local_path":
        chosen.insert(0, settings.component("local-path"))
    wired = [part for part in settings.components if part.name in OPERATORS and part not in chosen]
    return Scope(tuple(dict.fromkeys(chosen)), tuple(wired) if "gang_scheduling" in roles else ())
