"""The settings without which Volcano's scheduler evicts no pods for a gang, as changes of its configuration.

Rules, of v1.8.0 to v1.15.1: pkg/scheduler/actions/preempt and reclaim (both skip a PodGroup in phase Pending and a job
that is not starving), JobEnqueueable of the plugins overcommit, proportion and capacity, JobStarving, Preemptable and
Reclaimable of pkg/scheduler/framework/session_plugins.go (the first tier that names victims decides), preemptableFn of
the plugins gang and priority. Reclaim asks JobStarving since 1.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any

from kubeflow_volcano.catalog.model import version_key

SHARING = ("proportion", "capacity")
"""Plugins that compute what each queue may use, of which a configuration has one."""

_STARVING_SINCE = version_key("1.11.0")
_PRIORITY_FIRST = "have plugin priority in the first tier"

Document = dict[str, Any]
_Plugins = list[dict[str, Any]]


class Part(StrEnum):
    """What a setting is about, for those who know whether it matters to a gang."""

    ACTION = auto()
    STARVING = auto()
    PRIORITY = auto()
    OVERCOMMIT = auto()
    """Admission by plugin overcommit, which a full cluster refuses."""
    SHARE = auto()
    """Admission by what the queue may use, which a full queue refuses."""
    WHOLE_GANGS = auto()
    """Pods that a gang cannot do without may be evicted, too."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting without which nothing is evicted: what to do, and the change of the configuration's document."""

    part: Part
    todo: str
    change: Callable[[Document], None]


def lacking(action: str, document: Mapping[str, Any], version: str) -> Iterator[Setting]:
    """What the configuration lacks so that `action`, preempt or reclaim, evicts whole gangs on a full cluster.

    `version` is Volcano's; one that is not known is taken for a new one.
    """
    plugins = {str(item.get("name") or ""): item for item in plugins_of(document)}
    preempts = action == "preempt"
    if action not in actions_of(document):
        yield Setting(
            Part.ACTION, f"add {action} to the scheduler's actions", lambda changed: _add_action(changed, action)
        )
    asked = [name for name in ("gang", "priority") if name in plugins]
    asks = preempts or not version or version_key(version) >= _STARVING_SINCE
    if asks and not any(_is_on(plugins, name, "enableJobStarving") for name in asked):
        if asked:
            text = f"remove enableJobStarving: false of plugin {asked[0]}"
            yield Setting(Part.STARVING, text, _switch(asked[0], "enableJobStarving", on=True))
        elif not preempts:  # which needs plugin priority anyhow
            yield Setting(Part.PRIORITY, _PRIORITY_FIRST, _add_priority)
    for name, part in (("overcommit", Part.OVERCOMMIT), *((name, Part.SHARE) for name in SHARING)):
        if _is_on(plugins, name, "enableJobEnqueued"):
            text = f"set enableJobEnqueued: false on plugin {name}"
            yield Setting(part, text, _switch(name, "enableJobEnqueued", on=False))
    if preempts and not _is_on(plugins, "priority", "enablePreemptable"):
        yield Setting(Part.PRIORITY, _PRIORITY_FIRST, _add_priority)
    switch = "enablePreemptable" if preempts else "enableReclaimable"
    if _is_on(plugins, "gang", switch) and (preempts or not _asks_next(document, plugins)):
        text = f"set {switch}: false on plugin gang, which else protects the pods that gangs need"
        yield Setting(Part.WHOLE_GANGS, text, _switch("gang", switch, on=False))


def actions_of(document: Mapping[str, Any]) -> list[str]:
    """The actions of a configuration, in order."""
    return [name for item in str(document.get("actions") or "").split(",") if (name := item.strip())]


def plugins_of(document: Mapping[str, Any]) -> _Plugins:
    """The plugins of a configuration with their options, in the order of its tiers."""
    return [item for tier in document.get("tiers") or () for item in tier.get("plugins") or ()]


def _asks_next(document: Mapping[str, Any], plugins: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a tier behind that of gang has a plugin that names victims by shares."""
    tiers = [{item.get("name") for item in plugins_of({"tiers": [tier]})} for tier in document.get("tiers") or ()]
    first = next((number for number, names in enumerate(tiers) if "gang" in names), len(tiers))
    on = {name for name in SHARING if _is_on(plugins, name, "enableReclaimable")}
    return any(on & names for names in tiers[first + 1 :])


def _is_on(plugins: Mapping[str, Mapping[str, Any]], name: str, switch: str) -> bool:
    return name in plugins and plugins[name].get(switch) is not False


def _add_action(document: Document, action: str) -> None:
    actions = actions_of(document)
    actions.insert(actions.index("backfill") if "backfill" in actions else len(actions), action)
    document["actions"] = ", ".join(actions)


def _switch(plugin: str, switch: str, *, on: bool) -> Callable[[Document], None]:
    """Sets a switch of a plugin, or removes it, as all are on where nothing is said."""

    def change(document: Document) -> None:
        for item in plugins_of(document):
            if item.get("name") == plugin:
                item.pop(switch, None)
                if not on:
                    item[switch] = False

    return change


def _add_priority(document: Document) -> None:
    known = [item for item in plugins_of(document) if item.get("name") == "priority"]
    for item in known:
        item.pop("enablePreemptable", None)
    if not known:
        tiers = document["tiers"] = document.get("tiers") or [{}]
        tiers[0]["plugins"] = [{"name": "priority"}, *(tiers[0].get("plugins") or ())]
