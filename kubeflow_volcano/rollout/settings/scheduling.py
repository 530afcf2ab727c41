"""The scheduler's configuration, queues and priority classes that the inventory declares, and what is wrong with them.

Rules: cmd and pkg/scheduler/util.go (how the configuration is read), pkg/webhooks/admission/queues (what a queue may
be), plugins capacity and proportion, of Volcano v1.8.0 to v1.15.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kubeflow_volcano.catalog.read import nearest
from kubeflow_volcano.catalog.schedulers import SchedulerWords, words_of
from kubeflow_volcano.cluster.pods.quantities import amounts
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.queue_states import above, strange_states

__all__ = ["SchedulingSettings", "quantities", "scheduling_settings", "strange_scheduling"]


_ROOT = "root"


_AMOUNTS = ("guarantee", "deserved", "capability")
"""From the least to the most."""


_OWN = frozenset({"name", "state"})
"""What a queue of the inventory has beside its fields."""


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    """What is asked for in place of upstream's; where a part is empty, upstream's stays."""

    actions: tuple[str, ...] = ()
    tiers: tuple[Mapping[str, Any], ...] = ()
    queues: tuple[Mapping[str, Any], ...] = ()
    priority_classes: tuple[Mapping[str, Any], ...] = ()
    drain_seconds: int = 0
    """How long to wait for the jobs in queues that are to be absent."""


def scheduling_settings(values: Mapping[str, Any]) -> SchedulingSettings:
    """From well-shaped variables."""
    return SchedulingSettings(
        actions=tuple(values["volcano_scheduler_actions"]),
        tiers=tuple(values["volcano_scheduler_tiers"]),
        queues=tuple(values["volcano_queues"]),
        priority_classes=tuple(values["volcano_priority_classes"]),
        drain_seconds=values["volcano_queue_drain_seconds"],
    )


def strange_scheduling(asked: SchedulingSettings, version: str, gang_scheduler: str) -> Iterator[Problem]:
    """What that version of Volcano does not know, or what does not go together."""
    words = words_of(version)
    yield from _strange_actions(asked.actions, words, version)
    yield from _strange_tiers(asked.tiers, words, version)
    if asked.tiers and gang_scheduler == "volcano":
        yield from _without_gang(asked.tiers)
    yield from _strange_queues(asked.queues, words, version)
    yield from _twice("volcano_priority_classes", [item["name"] for item in asked.priority_classes])
    defaults = [item["name"] for item in asked.priority_classes if item.get("global_default")]
    if len(defaults) > 1:
        yield Problem(
            f"volcano_priority_classes has {len(defaults)} defaults: {', '.join(defaults)}.",
            "one global_default at most.",
            "leave it in one of them.",
        )


def quantities(resources: Mapping[str, Any]) -> dict[str, str]:
    """Amounts of resources as text, as Kubernetes writes them."""
    return {str(name): str(amount) for name, amount in resources.items()}


def _strange_actions(actions: Sequence[str], words: SchedulerWords, version: str) -> Iterator[Problem]:
    for name in actions:
        if name not in words.actions:
            yield _unknown("volcano_scheduler_actions", f"the action {name}", name, words.actions, version)
    if actions and (missing := [name for name in ("enqueue", "allocate") if name not in actions]):
        yield Problem(
            f"volcano_scheduler_actions has no {' and no '.join(missing)}.",
            "enqueue, which lets a gang in, and allocate, which places it.",
            "add what is missing.",
        )
    yield from _twice("volcano_scheduler_actions", actions)


def _strange_tiers(tiers: Sequence[Mapping[str, Any]], words: SchedulerWords, version: str) -> Iterator[Problem]:
    plugins = _plugins(tiers)
    names = [item["name"] for item in plugins]
    for item in plugins:
        if item["name"] not in words.plugins:
            yield _unknown(
                "volcano_scheduler_tiers", f"the plugin {item['name']}", item["name"], words.plugins, version
            )
        for key in item.keys() - {"name", "arguments"} - words.switches:
            what = f"{key} of plugin {item['name']}"
            yield _unknown("volcano_scheduler_tiers", what, key, words.switches | {"arguments"}, version)
    yield from _twice("volcano_scheduler_tiers", names)
    if {"capacity", "proportion"} <= set(names):
        yield Problem(
            "volcano_scheduler_tiers has both capacity and proportion.",
            "one of them: both say what a queue may have.",
            "remove one.",
        )
    by_name = {item["name"]: item for item in plugins}
    if by_name.get("drf", {}).get("enableHierarchy") and "proportion" in by_name:
        yield Problem(
            "volcano_scheduler_tiers has proportion and drf with enableHierarchy.",
            "one of them; the scheduler refuses such a configuration whole.",
            "remove proportion, or enableHierarchy.",
        )


def _without_gang(tiers: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    by_name = {item["name"]: item for item in _plugins(tiers)}
    missing = [name for name in ("gang", "predicates") if name not in by_name]
    missing += [] if {"capacity", "proportion"} & by_name.keys() else ["capacity or proportion"]
    if missing:
        yield Problem(
            f"volcano_scheduler_tiers has no plugin {', no '.join(missing)}.",
            "gang, without which members are placed one by one; predicates; and one of capacity and proportion.",
            "add what is missing, or set gang_scheduling_scheduler: none.",
        )
    for switch in ("enableJobReady", "enableJobPipelined", "enableJobStarving"):
        if by_name.get("gang", {}).get(switch) is False:
            yield Problem(
                f"volcano_scheduler_tiers has {switch}: false in plugin gang.",
                "a gang that starts when it is whole.",
                "remove it.",
            )


def _plugins(tiers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [item for tier in tiers for item in tier["plugins"]]


def _strange_queues(queues: Sequence[Mapping[str, Any]], words: SchedulerWords, version: str) -> Iterator[Problem]:
    by_name = {item["name"]: item for item in queues}
    yield from _twice("volcano_queues", [item["name"] for item in queues])
    for name, item in by_name.items():
        for key in sorted(item.keys() - _OWN - words.queue_fields):
            yield _unknown("volcano_queues", f"{key} of queue {name}", key, words.queue_fields, version)
        parent = item.get("parent", _ROOT)
        if parent != _ROOT and parent not in by_name:
            yield Problem(
                f"volcano_queues: queue {name} is a part of {parent}, which is not there.{nearest(parent, by_name)}",
                f"one of {', '.join(sorted({*by_name, _ROOT} - {name}))}.",
                f"correct parent, or add queue {parent}.",
            )
        if name in above(name, by_name):
            yield Problem(f"volcano_queues: queue {name} is a part of itself.", "a tree.", "correct parent.")
        yield from _strange_amounts(item)
    yield from strange_states(queues)


def _strange_amounts(queue: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        given = {key: amounts(quantities(queue[key])) for key in _AMOUNTS if key in queue}
    except ValueError as error:
        text = f"volcano_queues: queue {queue['name']}: {str(error).rstrip('.')}."
        yield Problem(text, 'quantities of Kubernetes, such as "4", "500m" and "16Gi".', "correct it.")
        return
    for less, more in ((less, more) for at, less in enumerate(_AMOUNTS) for more in _AMOUNTS[at + 1 :]):
        for name, amount in given.get(less, {}).items():
            most: Decimal | None = given.get(more, {}).get(name)
            if most is not None and amount > most:
                yield Problem(
                    f"volcano_queues: queue {queue['name']} has more {name} as {less} than as {more}.",
                    "guarantee, deserved and capability, none above the next.",
                    "correct the amounts.",
                )


def _twice(variable: str, names: Sequence[str]) -> Iterator[Problem]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(f"{variable} names {name} twice.", "every name once.", "remove one.")


def _unknown(variable: str, what: str, name: str, known: Iterable[str], version: str) -> Problem:
    return Problem(
        f"{variable}: {what}, which Volcano {version} does not know.{nearest(name, known)}",
        f"one of {', '.join(sorted(known))}.",
        "correct it, or choose another volcano_version.",
    )
