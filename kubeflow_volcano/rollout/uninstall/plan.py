"""The plan of an uninstallation: what goes, what stays and why. Pure: a function of the survey and the settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kubeflow_volcano.apply.removing.contents import Contents
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rollout.settings.uninstall import UninstallSettings
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.stale.in_use import others_in, space_in_use
from kubeflow_volcano.rollout.uninstall.survey import Survey
from kubeflow_volcano.text import counted, few

DATA_KINDS = frozenset({"PersistentVolume", "PersistentVolumeClaim", "Profile"})
"""Kinds that hold what people made: an object of these goes only when it is named."""
DATA = "data"
"""Cause of what stays because it is not named."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An object that stays: `cause` in a word or two for the count, the reason, and what would remove it."""

    ref: Ref
    cause: str
    why: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes, what is given back to the others who made it, and what stays."""

    going: tuple[Stale, ...]
    released: tuple[Stale, ...]
    kept: tuple[Kept, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to change."""
        return not (self.going or self.released)


def make_plan(survey: Survey, settings: UninstallSettings) -> Plan:
    """Decide about every object of ours; CRDs are judged when all else is gone, by what then is left of their kind."""
    kept = [*_data(survey, settings), *_queues(survey)]
    released = tuple(item for item in survey.ours if item.ref in survey.shared)
    stays = {item.ref for item in kept} | {item.ref for item in released}
    going = [item for item in survey.ours if item.ref not in stays]
    in_use = namespaces_in_use(going, going, survey.contents, data=stays)
    kept += in_use
    used = {item.ref for item in in_use}
    return Plan(tuple(item for item in going if item.ref not in used), released, tuple(kept))


def namespaces_in_use(
    spaces: Collection[Stale], going: Collection[Stale], contents: Contents, data: Collection[Ref] = ()
) -> list[Kept]:
    """The namespaces among `spaces` in which something else than `going` is, or in which not all could be listed.

    `data` are objects of ours that stay.
    """
    kept = []
    for ref in sorted(item.ref for item in spaces if item.ref.kind == "Namespace"):
        others = others_in(ref.name, contents, going)
        if found := space_in_use(others, contents):
            todo = by_name(others) if others and set(others) <= set(data) else f"{found.todo}, and run again"
            kept.append(Kept(ref, "in use" if others else "unknown", found.why, todo))
    return kept


def by_name(data: Collection[Ref]) -> str:
    """The setting that removes this data; empty without any."""
    names = ", ".join(f'"{ref}"' for ref in sorted(data))
    return f"uninstall_data: [{names}]" if names else ""


def dangling_webhooks(survey: Survey, plan: Plan) -> dict[Ref, tuple[str, str]]:
    """Webhook configurations of others whose Service goes: with failurePolicy Fail they would refuse objects."""
    services = {(item.ref.namespace, item.ref.name) for item in plan.going if item.ref.kind == "Service"}
    return {ref: min(lost) for ref, wanted in survey.hooks.items() if (lost := wanted & services)}


def _data(survey: Survey, settings: UninstallSettings) -> Iterator[Kept]:
    for item in survey.ours:
        if item.ref.kind in DATA_KINDS and str(item.ref) not in settings.data:
            why = "it may hold people's work"
            if item.ref.kind == "Profile":
                why = "it and its namespace hold people's work"
            yield Kept(item.ref, DATA, why, by_name([item.ref]))


def _queues(survey: Survey) -> Iterator[Kept]:
    for item in survey.ours:
        if item.ref.kind == "Queue" and (jobs := survey.jobs.get(item.ref.name)):
            why = f"{counted(len(jobs), 'job')} in it: {few(jobs, 3)}"
            yield Kept(item.ref, "in use", why, "wait for them, or delete them, and run again")
