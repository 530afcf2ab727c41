"""What a version of Volcano's scheduler can be told: actions, plugins, their switches, fields of queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.read import load

__all__ = ["SchedulerWords", "is_newer", "known_actions", "known_plugins", "words_of"]

_READ_UP_TO = "1.15.1"


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
    return _ever("plugins")


@cache
def known_actions() -> frozenset[str]:
    """Actions that any version brings."""
    return _ever("actions")


def is_newer(volcano_version: str) -> bool:
    """Whether that version may know words that were never read."""
    return version_key(volcano_version) > version_key(_READ_UP_TO)


def _ever(what: str) -> frozenset[str]:
    data: Mapping[str, Mapping[str, list[str]]] = load("schedulers.yaml", "schedulers")
    return frozenset(name for names in data[what].values() for name in names)
