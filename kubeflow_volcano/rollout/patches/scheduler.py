"""The scheduler's configuration, queues and priority classes that the inventory asks for, put into Volcano's text.

Rules: cmd and pkg/scheduler/util.go (how the configuration is read), pkg/webhooks/admission/queues (what a queue may
be), plugins capacity and proportion, of Volcano v1.8.0 to v1.15.1; PriorityClass of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings, quantities

__all__ = ["scheduled"]

CONFIGURATION = "volcano-scheduler.conf"
"""Key of the ConfigMap from which the scheduler reads; it reads again when the file changes."""

_QUEUE = "scheduling.volcano.sh/v1beta1"


def scheduled(objects: list[Object], asked: SchedulingSettings) -> None:
    """Put the configuration into Volcano's ConfigMap, and the queues and priority classes behind its objects.

    Raises:
        InvalidInput: the objects have no ConfigMap with the scheduler's configuration.
    """
    if asked.actions or asked.tiers:
        _configure(objects, asked)
    objects.extend(_priority_class(item) for item in asked.priority_classes)
    # A queue is sent behind the one that it is a part of.
    states = wanted_states(asked.queues)
    objects.extend(
        _queue(item) for item in _parents_first(asked.queues) if states[item["name"]] is not QueueState.ABSENT
    )


def _configure(objects: Iterable[Object], asked: SchedulingSettings) -> None:
    for obj in objects:
        if obj["kind"] == "ConfigMap" and CONFIGURATION in (obj.get("data") or {}):
            parsed = yaml.safe_load(obj["data"][CONFIGURATION])
            if asked.actions:
                parsed["actions"] = ", ".join(asked.actions)
            if asked.tiers:
                parsed["tiers"] = [_plain(item) for item in asked.tiers]
            obj["data"][CONFIGURATION] = yaml.safe_dump(parsed, sort_keys=False)
            return
    raise InvalidInput(
        Problem(
            f"manifests of Volcano without a ConfigMap that has {CONFIGURATION}.",
            "the scheduler's configuration, into which volcano_scheduler_actions and volcano_scheduler_tiers go.",
            "correct volcano_source.",
        )
    )


def _plain(value: Any) -> Any:
    """Values of an inventory as plain Python ones, whatever Ansible wraps them in."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else str(value)


def _queue(asked: Mapping[str, Any]) -> Object:
    spec: Object = {"weight": asked.get("weight", 1)}
    spec |= {key: _plain(asked[key]) for key in ("reclaimable", "parent", "priority") if key in asked}
    spec |= {key: quantities(asked[key]) for key in ("capability", "deserved") if key in asked}
    if "guarantee" in asked:
        spec["guarantee"] = {"resource": quantities(asked["guarantee"])}
    return {"apiVersion": _QUEUE, "kind": "Queue", "metadata": {"name": str(asked["name"])}, "spec": spec}


def _priority_class(asked: Mapping[str, Any]) -> Object:
    rest: Object = {"value": int(asked["value"]), "globalDefault": bool(asked.get("global_default", False))}
    if "preemption_policy" in asked:
        rest["preemptionPolicy"] = str(asked["preemption_policy"])
    if "description" in asked:
        rest["description"] = str(asked["description"])
    meta = {"name": str(asked["name"])}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, **rest}


def _parents_first(queues: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    by_name = {item["name"]: item for item in queues}
    ordered: dict[str, Mapping[str, Any]] = {}

    def add(item: Mapping[str, Any]) -> None:
        if (above := item.get("parent")) in by_name and above not in ordered:
            add(by_name[above])
        ordered.setdefault(item["name"], item)

    for item in queues:
        add(item)
    return list(ordered.values())
