"""The configuration that each version of Volcano's scheduler supports: actions, plugins, switches, arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.model import version_key

Arguments = Mapping[str, Mapping[str, str]]
"""By plugin or action: the arguments that it reads, each with its type; `name*` stands for all that begin so."""

_NEWEST = "1.15.1"
_LISTS = ("actions", "plugins", "switches")
_READS_QUEUE = version_key("1.7.0"), version_key("1.12.0")


@dataclass(frozen=True, slots=True)
class SchedulerWords:
    """What one version supports, by name."""

    actions: frozenset[str]
    plugins: frozenset[str]
    switches: frozenset[str]
    arguments: Arguments
    action_arguments: Arguments


@cache
def words_of(volcano_version: str) -> SchedulerWords:
    """What that version of Volcano supports; empty for versions older than the catalog's first."""
    key = version_key(volcano_version)
    data: Mapping[str, Mapping[str, Any]] = load("schedulers")

    def until_now(what: str) -> list[Any]:
        return [content for since, content in data[what].items() if version_key(since) <= key]

    gone = until_now("gone")
    return SchedulerWords(
        **{what: frozenset(name for names in until_now(what) for name in names) for what in _LISTS},
        arguments=_merged(until_now("arguments"), gone),
        action_arguments=_merged(until_now("action_arguments"), ()),
    )


def _merged(parts: Sequence[Arguments], gone: Sequence[Mapping[str, Sequence[str]]]) -> Arguments:
    """All parts together, without what is gone."""
    merged: dict[str, dict[str, str]] = {}
    for part in parts:
        for owner, arguments in part.items():
            merged.setdefault(owner, {}).update(arguments)
    for removed in gone:
        for owner, names in removed.items():
            for name in names:
                merged.get(owner, {}).pop(name, None)
    return merged


def argument_type(name: str, known: Mapping[str, str]) -> str:
    """The type that the program reads the argument as; empty for one that it does not read."""
    if name in known:
        return known[name]
    return next((kind for key, kind in known.items() if key.endswith("*") and name.startswith(key[:-1])), "")


def reads_queue_of_namespace(volcano_version: str) -> bool:
    """Whether a PodGroup without a queue gets the one of its namespace's annotation scheduling.volcano.sh/queue-name.

    pkg/webhooks/admission/podgroups/mutate reads it since v1.7.0, if it may: no ClusterRole of upstream allows that.
    From v1.12.0 on no manifest of upstream calls that webhook. Volcano's own Job never lacks a queue:
    admission/jobs/mutate gives it the queue default. Nor do jobs of the training operator from 1.8 on, which writes it.
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
