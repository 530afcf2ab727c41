"""The configuration of Volcano's scheduler: its ConfigMap, its content, and its faults for gang scheduling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.schedulers import is_newer, known_actions, known_plugins, words_of
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import did_you_mean, most_similar
from validators.core.facts import Facts
from validators.core.resources import CONFIGMAPS, DEPLOYMENTS
from validators.subjects.gang.operator_flags import read_flags

__all__ = [
    "GANG_SWITCHES",
    "UNLIMITED_AT_ZERO",
    "Configuration",
    "Unusable",
    "faults",
    "period_seconds",
    "read",
    "unknown_actions",
    "unknown_plugins",
    "version",
]

_PROGRAM = "vc-scheduler"
# Without these a gang may start before minMember pods fit, or is never found starving (checks.md, F4).
_NEEDED = ("gang", "predicates", "proportion", "capacity")
GANG_SWITCHES = ("enableJobReady", "enableJobPipelined", "enableJobStarving")
"""Of the plugin gang: with one of them off, gangs are not all or nothing."""

UNLIMITED_AT_ZERO = frozenset({"cpu", "memory", "pods"})
"""Of these, 0 in a queue's capability is no limit; of others it allows nothing (volcano, pkg/scheduler,
plugins/proportion for cpu and memory, ignoredScalarResources in api/resource_info.go for pods)."""
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Configuration:
    """The `document` under `key` of the ConfigMap `ref`; its plugins with their options, in the order of the tiers."""

    ref: Ref
    key: str
    document: Mapping[str, Any]
    actions: tuple[str, ...]
    plugins: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why the configuration cannot be read."""

    ref: Ref
    reason: str
    message: str
    todo: str


def read(scheduler: Object, facts: Facts) -> Configuration | Unusable:
    """The configuration that the Deployment of the scheduler mounts and names in its arguments."""
    pod = scheduler["spec"]["template"]["spec"]
    container = _container_in(pod)
    path = PurePosixPath(_flags(container).get("--scheduler-conf", ""))
    source = _mounted_at(path.parent, container, pod)
    key = next((item["key"] for item in source.get("items") or () if item["path"] == path.name), path.name)
    ref = Ref("v1", "ConfigMap", scheduler["metadata"]["namespace"], source.get("name", "volcano-scheduler-configmap"))
    found = facts.get(CONFIGMAPS, ref.namespace, ref.name)
    text = ((found or {}).get("data") or {}).get(key)
    if not text:
        message = f"{ref} has no key {key}." if found else f"{ref} does not exist."
        return Unusable(ref, "NoConfiguration", message, "apply Volcano's manifests again.")
    try:
        parsed = yaml.safe_load(text)
        plugins = {item["name"]: item for tier in parsed["tiers"] or () for item in tier["plugins"] or ()}
        actions = tuple(item.strip() for item in parsed["actions"].split(","))
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        message = f"{ref} is not a valid scheduler configuration: {type(error).__name__}: {error}."
        todo = "correct it; until then the scheduler uses what it read last, or its built-in configuration."
        return Unusable(ref, "Unreadable", message, todo)
    return Configuration(ref, key, parsed, actions, plugins)


def _mounted_at(directory: PurePosixPath, container: Object, pod: Object) -> Object:
    """The ConfigMap's part of the volume that is mounted there, else of the first one; empty without any."""
    maps: dict[str, Object] = {
        item["name"]: item["configMap"] for item in pod.get("volumes") or () if "configMap" in item
    }
    mounts = container.get("volumeMounts") or ()
    here = [
        maps[item["name"]] for item in mounts if item["name"] in maps and PurePosixPath(item["mountPath"]) == directory
    ]
    return next(iter((*here, *maps.values())), {})


def unknown_plugins(configuration: Configuration, version: str) -> dict[str, str]:
    """Plugins that this version of Volcano does not bring, each with the one that is probably meant, or nothing."""
    known = (words_of(version).plugins if version else frozenset()) or known_plugins()
    free = known - set(configuration.plugins)
    return {name: most_similar(name, free) for name in configuration.plugins if name not in known}


def unknown_actions(configuration: Configuration, version: str) -> dict[str, str]:
    """Actions that make this version of Volcano ignore the whole configuration, each with the one that is meant.

    Versions newer than the catalog may have actions that the catalog does not know.
    """
    known = words_of(version or "0").actions
    free = known - set(configuration.actions)
    return {
        action: most_similar(action, free)
        for action in configuration.actions
        if known and action not in known and (action in known_actions() or not is_newer(version))
    }


def faults(configuration: Configuration, version: str) -> Iterator[tuple[str, str]]:
    """Reason and text of everything that is misspelt, missing or disabled for this version of Volcano, gang first.

    If the version is not known, or older than the catalog, every action and plugin is accepted.
    """
    yield from _misspelt(configuration, version)
    plugins, words = configuration.plugins, words_of(version or "0")
    if "gang" not in plugins:
        yield "GangMissing", "plugin gang is missing, so members of a PodGroup are scheduled one by one"
    for switch in GANG_SWITCHES:
        if plugins.get("gang", {}).get(switch) is False:
            yield "GangDisabled", f"plugin gang has {switch}: false"
    for action in ("enqueue", "allocate"):
        if action not in configuration.actions:
            yield "ActionMissing", f"action {action} is missing"
    if "predicates" not in plugins:
        yield "PluginMissing", "plugin predicates is missing, so pods are scheduled to nodes that cannot run them"
    shares = {"proportion", "capacity"} & set(plugins)
    deaf = shares - words.plugins if words.plugins else set()
    if not shares - deaf:
        note = f"Volcano {version} does not know {', '.join(deaf)}" if deaf else "both are missing"
        yield "PluginMissing", f"plugins proportion and capacity: {note}, so queues have no share"


def _misspelt(configuration: Configuration, version: str) -> Iterator[tuple[str, str]]:
    """Actions that are unknown, and unknown plugins that resemble one which is needed."""
    for action, word in unknown_actions(configuration, version).items():
        text = f"Volcano {version} does not know action {action}, and ignores the whole configuration because of it"
        yield "ActionUnknown", f"{text}.{did_you_mean(action, [word])}" if word else text
    for name, word in unknown_plugins(configuration, version).items():
        if word in _NEEDED:
            text = f"{f'Volcano {version}'.strip()} has no plugin {name}, and ignores it"
            yield "PluginUnknown", f"{text}.{did_you_mean(name, [word])}"


def period_seconds(facts: Facts) -> float:
    """Seconds between two sessions of the scheduler; 1, its default, if nothing else is configured."""
    text = _flags(_container(facts)).get("--schedule-period", "")
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)  # a Go duration such as 1m30s
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts) or 1.0


def version(facts: Facts) -> str:
    """Volcano's version by the scheduler's image, else as the caller states it; empty if neither shows it."""
    tag = version_tag(_container(facts).get("image", ""))
    return tag if re.fullmatch(r"\d+(\.\d+)+([-+].*)?", tag) else facts.expectations.volcano_version


def _flags(container: Object) -> Mapping[str, str]:
    """Values by flag; where a shell starts the scheduler, its arguments are one text."""
    return read_flags(
        [word for item in (*(container.get("command") or ()), *(container.get("args") or ())) for word in item.split()]
    )


def _container(facts: Facts) -> Object:
    """The scheduler's container; empty if there is no Deployment of it."""
    for deployment in facts.objects.get(DEPLOYMENTS, ()):
        pod = deployment["spec"]["template"]["spec"]
        if any(_PROGRAM in item["image"] for item in pod["containers"]):
            return _container_in(pod)
    return {}


def _container_in(pod: Object) -> Object:
    containers: list[Object] = pod["containers"]
    return next((item for item in containers if _PROGRAM in item["image"]), containers[0])
