"""The command that removes the faults of Volcano's configuration for gang scheduling."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from kubeflow_volcano.catalog.schedulers import words_of
from kubeflow_volcano.cluster.volcano import GANG_SWITCH, configuration_of
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import (
    Configuration,
    unknown_actions,
    unknown_plugins,
)
from kubeflow_volcano.validators.subjects.gang.scheduler_keys import strange_keys
from kubeflow_volcano.validators.subjects.kubectl import patch, pointer

_OF_GANG = (GANG_SWITCH, "enableJobPipelined", "enableJobStarving")


def correction(configuration: Configuration, version: str) -> str:
    """The command that writes the configuration without its faults; empty if none is found.

    What is probably misspelt is spelt right, and a plugin that resembles none of Volcano's stays, as it may be a custom
    one. Other settings are kept, comments are lost. Nothing is added that a configuration works without: an action
    enqueue, which many leave out on purpose, stays out.
    """
    if not configuration.key:  # it is built in
        return ""
    before = configuration.document
    document = copy.deepcopy(dict(before))
    for item in strange_keys(configuration, version):
        if item.meant:
            holder: Any = document
            for step in item.path[:-1]:
                holder = holder[step]
            holder[item.meant] = holder.pop(item.path[-1])
    configuration = configuration_of(configuration.ref, configuration.key, document, configuration.custom)
    document["tiers"] = document.get("tiers") or [{"plugins": []}]
    for tier in document["tiers"]:
        tier["plugins"] = tier.get("plugins") or []
    actions = _corrected_actions(configuration, version)
    if actions != configuration.actions:
        document["actions"] = ", ".join(actions)
    _correct_plugins([tier["plugins"] for tier in document["tiers"]], configuration, version)
    return "" if document == before else written(configuration, document)


def written(configuration: Configuration, document: Mapping[str, Any]) -> str:
    """The command that writes the document in the configuration's place."""
    text = yaml.safe_dump(document, sort_keys=False)
    operation = {"op": "replace", "path": pointer("data", configuration.key), "value": text}
    return patch("configmap", configuration.ref, [operation])


def _corrected_actions(configuration: Configuration, version: str) -> tuple[str, ...]:
    unknown = unknown_actions(configuration, version)
    actions = [action for item in configuration.actions if (action := unknown.get(item, item))]
    if "allocate" not in actions:
        actions.insert(actions.index("enqueue") + 1 if "enqueue" in actions else 0, "allocate")
    return tuple(dict.fromkeys(actions))


def _correct_plugins(tiers: Sequence[list[dict[str, Any]]], configuration: Configuration, version: str) -> None:
    """Missing plugins get where Volcano's own configuration has them: gang in the first tier, others in the last."""
    meant, known = unknown_plugins(configuration, version), words_of(version or "0").plugins
    if known and "capacity" not in known and "proportion" not in configuration.plugins:
        meant["capacity"] = "proportion"
    names = set(configuration.plugins)
    for plugin in (item for tier in tiers for item in tier):
        if (word := meant.get(plugin.get("name", ""))) and word not in names:
            names = names - {plugin["name"]} | {word}
            plugin["name"] = word
        if plugin.get("name") == "gang":
            for switch in _OF_GANG:
                if plugin.get(switch) is False:
                    del plugin[switch]
    if "gang" not in names:
        tiers[0].append({"name": "gang"})
    if "predicates" not in names:
        tiers[-1].append({"name": "predicates"})
    if not {"proportion", "capacity"} & names:
        tiers[-1].append({"name": "proportion"})
