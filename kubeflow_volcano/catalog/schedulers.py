"""What a version of Volcano's scheduler can be told: actions, plugins, their switches, fields of queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.read import load

__all__ = ["SchedulerWords", "known_plugins", "words_of"]


@dataclass(frozen=True, slots=True)
class SchedulerWords:
    """The words of one version."""

    actions: frozenset[str]
    plugins: frozenset[str]
    switches: frozenset[str]
    queue_fields: frozenset[str]


@cache
def words_of(volcano_version: str) -> SchedulerWords:
    """What that version of Volcano knows; an older one than the catalog's first knows nothing here."""
    data: Mapping[str, Mapping[str, list[str]]] = load("schedulers.yaml", "schedulers")

    def known(what: str) -> frozenset[str]:
        wanted = version_key(volcano_version)
        return frozenset(name for since, names in data[what].items() if version_key(since) <= wanted for name in names)

    return SchedulerWords(known("actions"), known("plugins"), known("switches"), known("queue_fields"))


@cache
def known_plugins() -> frozenset[str]:
    """Plugins that any version brings."""
    data: Mapping[str, Mapping[str, list[str]]] = load("schedulers.yaml", "schedulers")
    return frozenset(name for names in data["plugins"].values() for name in names)
