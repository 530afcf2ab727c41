"""The configuration of Volcano's scheduler: its ConfigMap, its content, and its faults for gang scheduling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubeflow_volcano.catalog.images.names import version_tag
from kubeflow_volcano.catalog.schedulers import is_newer, known_actions, known_plugins, words_of
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.volcano import (
    Configuration,
    Unusable,
    flags_of_scheduler,
    gang_faults,
    labels_of_nodes,
    read_configuration,
    scheduler_container,
)
from kubeflow_volcano.text import did_you_mean, most_similar
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CONFIGMAPS, DEPLOYMENTS
from kubeflow_volcano.validators.subjects.gang.scheduler_keys import strange_keys

__all__ = [
    "UNLIMITED_AT_ZERO",
    "Configuration",
    "Fault",
    "Unusable",
    "faults",
    "node_labels",
    "period_seconds",
    "read",
    "unknown_actions",
    "unknown_plugins",
    "version",
]

_PROGRAM = "vc-scheduler"
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


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a configuration. Where `fails` is False, gangs are scheduled as wholes all the same."""

    reason: str
    text: str
    fails: bool = False


def faults(configuration: Configuration, version: str) -> Iterator[Fault]:
    """Everything that this version of Volcano refuses, ignores or lacks, what keeps gangs from being wholes first.

    If the version is not known, or older than the catalog, every action and plugin is accepted. Rules, all of
    v1.8.0 to v1.15.1: UnmarshalSchedulerConf of pkg/scheduler/util.go (unknown actions, and drf with enableHierarchy
    beside proportion, make it refuse the whole configuration), OpenSession of pkg/scheduler/framework (unknown plugins
    are skipped), JobReady, JobPipelined and JobStarving of framework/session_plugins.go. No action but allocate is
    needed: without enqueue, allocate admits PodGroups itself (pickUpQueuesAndJobs of pkg/scheduler/actions/allocate).
    """
    plugins = configuration.plugins
    for action, word in unknown_actions(configuration, version).items():
        text = f"Volcano {version} does not know action {action}, and ignores the whole configuration because of it"
        yield Fault("ActionUnknown", f"{text}.{did_you_mean(action, [word])}" if word else text, fails=True)
    if plugins.get("drf", {}).get("enableHierarchy") is True and "proportion" in plugins:
        text = (
            "plugin drf with enableHierarchy is configured with proportion, so Volcano ignores the whole configuration"
        )
        yield Fault("Contradiction", text, fails=True)
    meant = unknown_plugins(configuration, version)
    for reason, text in gang_faults(configuration):
        slip = next((name for name, word in meant.items() if word == "gang"), "")
        question = f". Volcano has no plugin {slip}.{did_you_mean(slip, ['gang'])}" if slip else ""
        yield Fault(reason, f"{text}{question}", fails=True)
    if "allocate" not in configuration.actions:
        text = "action allocate is missing, so no pod with requests gets a node"
        yield Fault("ActionMissing", text, fails=True)
    yield from _losses(configuration, version)
    for name in meant:
        if not (meant[name] == "gang" and "gang" not in plugins):
            text = f"{f'Volcano {version}'.strip()} does not bring plugin {name}, and skips it"
            yield Fault("UnknownPlugin", f"{text}.{did_you_mean(name, [meant[name]])}" if meant[name] else text)
    for item in strange_keys(configuration, version):
        yield Fault(item.reason, item.text)


def _losses(configuration: Configuration, version: str) -> Iterator[Fault]:
    """What gangs do without, where they are scheduled as wholes."""
    plugins, words = configuration.plugins, words_of(version or "0")
    gang = plugins.get("gang", {})
    if gang.get("enableJobPipelined") is False:
        text = "plugin gang has enableJobPipelined: false, so a gang that does not fit keeps others from what is free"
        yield Fault("GangLoosened", text)
    if gang.get("enableJobStarving") is False:
        text = "plugin gang has enableJobStarving: false, so preemption makes no room for a gang that lacks pods"
        yield Fault("GangLoosened", text)
    if "predicates" not in plugins:
        text = "plugin predicates is missing, so pods get nodes whose taints, labels and ports they do not match"
        yield Fault("PluginMissing", text)
    shares = {"proportion", "capacity"} & set(plugins)
    deaf = shares - words.plugins if words.plugins else set()
    if not shares - deaf:
        note = f"Volcano {version} does not know {', '.join(deaf)}" if deaf else "both are missing"
        yield Fault("PluginMissing", f"plugins proportion and capacity: {note}, so queues have no share")


def period_seconds(facts: Facts) -> float:
    """Seconds between two sessions of the scheduler; 1, its default, if nothing else is configured."""
    text = flags(facts).get("--schedule-period", "")
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)  # a Go duration such as 1m30s
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts) or 1.0


def node_labels(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Labels of which a node must have one for Volcano's scheduler to know it; none where it knows all, or unknown."""
    found = _container(facts)
    return labels_of_nodes(found) if found else ()


def version(facts: Facts) -> str:
    """Volcano's version by the scheduler's image, else as the caller states it; empty if neither shows it."""
    tag = version_tag(_container(facts).get("image", ""))
    return tag if re.fullmatch(r"\d+(\.\d+)+([-+].*)?", tag) else facts.expectations.volcano_version


def flags(facts: Facts) -> Mapping[str, str]:
    """The flags that Volcano's scheduler is started with."""
    return flags_of_scheduler(_container(facts))


def _container(facts: Facts) -> Object:
    """The scheduler's container; empty if there is no Deployment of it."""
    for deployment in facts.objects.get(DEPLOYMENTS, ()):
        pod = deployment["spec"]["template"]["spec"]
        if any(_PROGRAM in item["image"] for item in pod["containers"]):
            return scheduler_container(pod)
    return {}
