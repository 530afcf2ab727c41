"""The configuration that each version of Volcano's scheduler supports: actions, plugins, switches, queue fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.model import version_key

__all__ = ["SchedulerWords", "is_newer", "known_actions", "known_plugins", "reads_queue_of_namespace", "words_of"]

_NEWEST = "1.15.1"
_READS_QUEUE = version_key("1.7.0"), version_key("1.12.0")


@dataclass(frozen=True, slots=True)
class SchedulerWords:
    """What one version supports, by name."""

    actions: frozenset[str]
    plugins: frozenset[str]
    switches: frozenset[str]
    queue_fields: frozenset[str]


@cache
def words_of(volcano_version: str) -> SchedulerWords:
    """What that version of Volcano supports; empty for versions older than the catalog's first."""
    key = version_key(volcano_version)
    words: Mapping[str, Mapping[str, list[str]]] = load("schedulers")
    return SchedulerWords(
        **{
            what: frozenset(name for since, names in by_version.items() if version_key(since) <= key for name in names)
            for what, by_version in words.items()
        }
    )


def reads_queue_of_namespace(volcano_version: str) -> bool:
    """Whether a PodGroup without a queue gets the one of its namespace's annotation scheduling.volcano.sh/queue-name.

    pkg/webhooks/admission/podgroups/mutate reads it since v1.7.0, if it may: no ClusterRole of upstream allows that.
    From v1.12.0 on no manifest of upstream calls that webhook. Volcano's own Job never lacks a queue:
    admission/jobs/mutate gives it the queue default.
    """
    return _READS_QUEUE[0] <= version_key(volcano_version) < _READS_QUEUE[1]


def known_plugins() -> frozenset[str]:
    """Plugins of any version."""
    return words_of(_NEWEST).plugins


def known_actions() -> frozenset[str]:
    """Actions of any version."""
    return words_of(_NEWEST).actions


def is_newer(volcano_version: str) -> bool:
    """Whether that version is newer than the catalog, and may support more."""
    return version_key(volcano_version) > version_key(_NEWEST)
