"""Configurations of Volcano's scheduler that evict pods for gangs: all settings that it takes, under one name.

What an installation requests is compared with what upstream's manifest of that version has; `lacking` says what that
lacks, as it does for a cluster that runs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.catalog.evictions.lacking import (
    SHARING,
    Document,
    Part,
    Setting,
    actions_of,
    lacking,
    plugins_of,
)

UPSTREAM = "upstream"
"""The configuration in Volcano's manifest, unchanged."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Actions that evict, and the plugin by which queues share; empty: that of the manifest."""

    actions: tuple[str, ...]
    sharing: str = ""


PRESETS: Mapping[str, Preset] = {
    "preemption": Preset(("preempt",)),
    "reclaim-by-weight": Preset(("reclaim",), "proportion"),
    "reclaim-by-deserved": Preset(("reclaim",), "capacity"),
    "preemption-and-reclaim-by-weight": Preset(("preempt", "reclaim"), "proportion"),
    "preemption-and-reclaim-by-deserved": Preset(("preempt", "reclaim"), "capacity"),
}
"""By the value of `volcano_scheduler_preset`."""


def with_preset(name: str, document: Mapping[str, Any], version: str) -> Document:
    """The configuration of that version of Volcano with all that the preset takes; the document stays as it is."""
    changed = copy.deepcopy(dict(document))
    if name == UPSTREAM:
        return changed
    preset = PRESETS[name]
    if preset.sharing:
        _share_by(preset.sharing, changed)
    for action in preset.actions:
        for setting in [item for item in lacking(action, changed, version) if _is_needed(item, action)]:
            setting.change(changed)
    return changed


def preset_with(action: str, document: Mapping[str, Any], settings: Iterable[Setting]) -> str:
    """The preset that has these settings beside what the configuration does already; empty where none has them all."""
    if not all(_is_needed(item, action) for item in settings):
        return ""
    names = {item.get("name") for item in plugins_of(document)}
    sharing = next((name for name in SHARING if name in names), SHARING[0])
    actions = {action, *({"preempt", "reclaim"} & {*actions_of(document)})}
    fitting = (name for name, item in PRESETS.items() if {*item.actions} == actions and item.sharing in {"", sharing})
    return next(fitting)


def _is_needed(setting: Setting, action: str) -> bool:
    """A queue that takes back what it deserves is not full, so that its own admission may go on."""
    return action == "preempt" or setting.part is not Part.SHARE


def _share_by(plugin: str, document: Document) -> None:
    """Have this plugin in the place of the other one, whose switches and arguments say nothing to it."""
    if any(item.get("name") == plugin for item in plugins_of(document)):
        return
    for item in plugins_of(document):
        if item.get("name") in SHARING:
            item.clear()
            item["name"] = plugin
            return
    tiers = document["tiers"] = document.get("tiers") or [{}]
    tiers[-1]["plugins"] = [*(tiers[-1].get("plugins") or ()), {"name": plugin}]
