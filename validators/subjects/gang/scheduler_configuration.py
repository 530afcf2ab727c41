"""The configuration of Volcano's scheduler: its ConfigMap, its content, and its faults for gang scheduling."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.schedulers import is_newer, known_actions, known_plugins, words_of
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.volcano import (
    GANG_SWITCHES,
    Configuration,
    Unusable,
    flags_of_scheduler,
    gang_faults,
    read_configuration,
    scheduler_container,
)
from kubeflow_volcano.text import did_you_mean, most_similar
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CONFIGMAPS, DEPLOYMENTS

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
UNLIMITED_AT_ZERO = frozenset({"cpu", "memory", "pods"})
"""Of these, 0 in a queue's capability is no limit; of others it allows nothing (volcano, pkg/scheduler,
plugins/proportion for cpu and memory, ignoredScalarResources in api/resource_info.go for pods)."""
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def read(scheduler: Object, facts: Facts) -> Configuration | Unusable:
    """The configuration that the Deployment of the scheduler mounts and names in its arguments."""
    return read_configuration(
        scheduler, lambda ref: facts.get(CONFIGMAPS, ref.namespace, ref.name), facts.expectations.extra_plugins
    )


def unknown_plugins(configuration: Configuration, version: str) -> dict[str, str]:
    """Plugins that neither this version of Volcano nor a vendor brings, each with the one that is probably meant."""
    known = (words_of(version).plugins if version else frozenset()) or known_plugins()
    free = known - set(configuration.plugins)
    strange = [name for name in configuration.plugins if name not in known and name not in configuration.custom]
    return {name: most_similar(name, free) for name in strange}


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
    yield from gang_faults(configuration)
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
    text = flags_of_scheduler(_container(facts)).get("--schedule-period", "")
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)  # a Go duration such as 1m30s
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts) or 1.0


def version(facts: Facts) -> str:
    """Volcano's version by the scheduler's image, else as the caller states it; empty if neither shows it."""
    tag = version_tag(_container(facts).get("image", ""))
    return tag if re.fullmatch(r"\d+(\.\d+)+([-+].*)?", tag) else facts.expectations.volcano_version


def _container(facts: Facts) -> Object:
    """The scheduler's container; empty if there is no Deployment of it."""
    for deployment in facts.objects.get(DEPLOYMENTS, ()):
        pod = deployment["spec"]["template"]["spec"]
        if any(_PROGRAM in item["image"] for item in pod["containers"]):
            return scheduler_container(pod)
    return {}
