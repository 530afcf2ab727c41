"""Volcano and the training operator: scheduler configuration, queues, priority classes, pod webhook, replicas.

Rules: cmd and pkg/scheduler/util.go (how the configuration is read), pkg/webhooks/admission/queues (validation of
queues), plugins capacity and proportion, of Volcano v1.8.0 to v1.15.1. The fields of a queue are those of the CRD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

from kubeflow_volcano.catalog.evictions.presets import PRESETS, UPSTREAM
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.operator import era_of
from kubeflow_volcano.catalog.schedulers import SchedulerWords, words_of
from kubeflow_volcano.cluster.pods.quantities import amounts
from kubeflow_volcano.cluster.volcano import GANG_SWITCH
from kubeflow_volcano.decode import Key
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.queue_states import ancestors, validate_states
from kubeflow_volcano.text import did_you_mean

_ROOT = "root"

_AMOUNTS = ("guarantee", "deserved", "capability")
"""From the smallest to the largest."""


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    """What replaces upstream's scheduler configuration, and the queues and priority classes to create.

    An empty part keeps that of the `preset`, which is one of `PRESETS` or `UPSTREAM`. `extra_plugins` are of a vendor,
    and known to no version of Volcano. `flags` are the scheduler's, without dashes.
    `drain_seconds` is how long to wait for jobs in queues that are to be deleted. `of_profiles` names queues that only
    profiles declare.
    """

    preset: Annotated[str, Key("volcano_scheduler_preset")] = UPSTREAM
    actions: Annotated[tuple[str, ...], Key("volcano_scheduler_actions")] = ()
    tiers: Annotated[tuple[Mapping[str, Any], ...], Key("volcano_scheduler_tiers")] = ()
    extra_plugins: Annotated[tuple[str, ...], Key("volcano_scheduler_extra_plugins")] = ()
    flags: Annotated[Mapping[str, Any], Key("volcano_scheduler_flags")] = field(default_factory=dict)
    queues: Annotated[tuple[Mapping[str, Any], ...], Key("volcano_queues")] = ()
    priority_classes: Annotated[tuple[Mapping[str, Any], ...], Key("volcano_priority_classes")] = ()
    drain_seconds: Annotated[int, Key("volcano_queue_drain_seconds")] = 0
    of_profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodWebhookSettings:
    """The failurePolicy of Volcano's pod webhooks, and the namespace labels that they select; none: all namespaces."""

    failure_policy: Annotated[str, Key("volcano_pod_webhook_failure_policy")] = "Ignore"
    namespaces: Annotated[Mapping[str, str], Key("volcano_pod_webhook_namespace_labels")] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AvailabilitySettings:
    """Replicas of each Deployment of Volcano and of the training operator; 1 keeps the manifests unchanged."""

    volcano: Annotated[int, Key("volcano_replicas")] = 1
    operator: Annotated[int, Key("gang_scheduling_operator_replicas")] = 1


def validate_availability(availability: AvailabilitySettings, operator: str) -> Iterator[Problem]:
    """Problems of the replicas with a training operator of that version; empty where none is chosen."""
    if availability.operator == 1:
        return
    if not operator:
        yield Problem(
            f"gang_scheduling_operator_replicas is {availability.operator}, and no training operator is chosen.",
            "the component training-operator; Trainer has a configuration of its own.",
            "remove gang_scheduling_operator_replicas, or choose training-operator.",
        )
    elif not era_of(operator).elects_leader:
        yield leader_problem(availability.operator, operator)


def leader_problem(replicas: int, version: str) -> Problem:
    """The problem of several replicas of an operator version without working leader election."""
    return Problem(
        f"gang_scheduling_operator_replicas is {replicas}; training operator {version} cannot elect a leader: the "
        "name of its Lease is invalid.",
        "one replica, or training operator 1.6.0 or later.",
        "remove gang_scheduling_operator_replicas, or choose a later release.",
    )


def validate_scheduling(scheduling: SchedulingSettings, volcano: Component, gang_scheduler: str) -> Iterator[Problem]:
    """Names that this Volcano does not support, and contradictions."""
    version = volcano.version
    words = words_of(version)
    words = replace(
        words,
        actions=words.actions | {*volcano.scheduler_actions},
        plugins=words.plugins | {*volcano.scheduler_plugins, *scheduling.extra_plugins},
    )
    yield from _validate_preset(scheduling, words, version)
    yield from _validate_actions(scheduling.actions, words, version)
    yield from _validate_tiers(scheduling.tiers, words, version)
    if scheduling.tiers and gang_scheduler == "volcano":
        yield from _validate_gang_plugins(scheduling.tiers)
    yield from _validate_queues(scheduling, volcano)
    yield from _duplicates("volcano_priority_classes", [item["name"] for item in scheduling.priority_classes])
    defaults = [item["name"] for item in scheduling.priority_classes if item.get("global_default")]
    if len(defaults) > 1:
        yield Problem(
            f"volcano_priority_classes has {len(defaults)} defaults: {', '.join(defaults)}.",
            "at most one global_default.",
            "keep it in one of them.",
        )


def quantities(resources: Mapping[str, Any]) -> dict[str, str]:
    """Quantities of resources as text, as in Kubernetes objects."""
    return {str(name): str(amount) for name, amount in resources.items()}


def _validate_preset(scheduling: SchedulingSettings, words: SchedulerWords, version: str) -> Iterator[Problem]:
    if scheduling.preset == UPSTREAM:
        return
    sharing = PRESETS[scheduling.preset].sharing
    if sharing and words.plugins and sharing not in words.plugins:
        yield Problem(
            f"volcano_scheduler_preset is {scheduling.preset}, and Volcano {version} has no plugin {sharing}.",
            "a preset whose plugins this version of Volcano has.",
            "choose another preset, or another volcano_version.",
        )
    parts = {"volcano_scheduler_actions": scheduling.actions, "volcano_scheduler_tiers": scheduling.tiers}
    if given := [name for name, value in parts.items() if value]:
        yield Problem(
            f"volcano_scheduler_preset is {scheduling.preset}, and {' and '.join(given)} would replace parts of it.",
            "one of both: a preset is a whole configuration.",
            f"remove {' and '.join(given)}, or volcano_scheduler_preset.",
        )


def _validate_actions(actions: Sequence[str], words: SchedulerWords, version: str) -> Iterator[Problem]:
    for name in actions:
        if name not in words.actions:
            yield _unknown("volcano_scheduler_actions", f"the action {name}", name, words.actions, version)
    if actions and "allocate" not in actions:  # without enqueue, allocate admits gangs itself
        yield Problem(
            "volcano_scheduler_actions has no allocate.", "allocate, which places the pods of gangs.", "add allocate."
        )
    yield from _duplicates("volcano_scheduler_actions", actions)


def _validate_tiers(tiers: Sequence[Mapping[str, Any]], words: SchedulerWords, version: str) -> Iterator[Problem]:
    plugins = _plugins(tiers)
    names = [item["name"] for item in plugins]
    for item in plugins:
        if item["name"] not in words.plugins:
            what = f"the plugin {item['name']}"
            problem = _unknown("volcano_scheduler_tiers", what, item["name"], words.plugins, version)
            yield replace(
                problem, todo="correct it, or, if a vendor added it, name it in volcano_scheduler_extra_plugins."
            )
        for key in item.keys() - {"name", "arguments"} - words.switches:
            what = f"{key} of plugin {item['name']}"
            yield _unknown("volcano_scheduler_tiers", what, key, words.switches | {"arguments"}, version)
    yield from _duplicates("volcano_scheduler_tiers", names)
    if {"capacity", "proportion"} <= set(names):
        yield Problem(
            "volcano_scheduler_tiers has both capacity and proportion.",
            "one of them: both compute the share of each queue.",
            "remove one.",
        )
    by_name = {item["name"]: item for item in plugins}
    if by_name.get("drf", {}).get("enableHierarchy") and "proportion" in by_name:
        yield Problem(
            "volcano_scheduler_tiers has proportion and drf with enableHierarchy.",
            "one of them; the scheduler rejects a configuration with both.",
            "remove proportion, or enableHierarchy.",
        )


def _validate_gang_plugins(tiers: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """What keeps gangs from being wholes; check F4 warns of what they merely do without."""
    gang = next((item for item in _plugins(tiers) if item["name"] == "gang"), None)
    if gang is None:
        yield Problem(
            "volcano_scheduler_tiers has no plugin gang.",
            "gang, or pods are placed one by one.",
            "add it, or set gang_scheduling_scheduler: none.",
        )
    elif gang.get(GANG_SWITCH) is False:
        yield Problem(
            f"volcano_scheduler_tiers has {GANG_SWITCH}: false in plugin gang.",
            "the gang plugin with its check: a gang starts only when minMember pods fit.",
            f"remove {GANG_SWITCH}: false.",
        )


def _plugins(tiers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [item for tier in tiers for item in tier["plugins"]]


def _validate_queues(scheduling: SchedulingSettings, volcano: Component) -> Iterator[Problem]:
    queues = scheduling.queues
    by_name = {item["name"]: item for item in queues}
    yield from _duplicates("volcano_queues", [item["name"] for item in queues])
    for name, item in by_name.items():
        of_profile = name in scheduling.of_profiles
        variable = "kubeflow_profiles" if of_profile else "volcano_queues"
        known = {*volcano.queue_fields, "name"} | (set() if of_profile else {"state"})
        for key in sorted(item.keys() - known):
            yield _unknown(variable, f"{key} of queue {name}", key, known, volcano.version)
        parent = item.get("parent", _ROOT)
        if parent != _ROOT and parent not in by_name:
            yield Problem(
                f"{variable}: the parent of queue {name} is {parent}, which does not exist."
                f"{did_you_mean(parent, by_name)}",
                f"one of {', '.join(sorted({*by_name, _ROOT} - {name}))}.",
                f"correct parent, or add queue {parent}.",
            )
        if name in ancestors(name, by_name):
            yield Problem(f"{variable}: queue {name} is its own ancestor.", "a tree of queues.", "correct parent.")
        yield from _validate_amounts(item, variable)
    yield from validate_states(queues)


def _validate_amounts(queue: Mapping[str, Any], variable: str) -> Iterator[Problem]:
    try:
        given = {key: amounts(quantities(queue[key])) for key in _AMOUNTS if key in queue}
    except ValueError as error:
        text = f"{variable}: queue {queue['name']}: {str(error).rstrip('.')}."
        yield Problem(text, 'Kubernetes quantities, such as "4", "500m" and "16Gi".', "correct it.")
        return
    for less, more in ((less, more) for at, less in enumerate(_AMOUNTS) for more in _AMOUNTS[at + 1 :]):
        for name, amount in given.get(less, {}).items():
            most: Decimal | None = given.get(more, {}).get(name)
            if most is not None and amount > most:
                yield Problem(
                    f"{variable}: queue {queue['name']} has more {name} as {less} than as {more}.",
                    "guarantee <= deserved <= capability.",
                    "correct the quantities.",
                )


def _duplicates(variable: str, names: Sequence[str]) -> Iterator[Problem]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(f"{variable} names {name} twice.", "every name once.", "remove one.")


def _unknown(variable: str, what: str, name: str, known: Iterable[str], version: str) -> Problem:
    return Problem(
        f"{variable}: {what}, which Volcano {version} does not support.{did_you_mean(name, known)}",
        f"one of {', '.join(sorted(known))}.",
        "correct it, or choose another volcano_version.",
    )
