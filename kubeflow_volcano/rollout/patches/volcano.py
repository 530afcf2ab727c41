"""Volcano's manifests with the inventory's scheduler configuration, queues, priority classes and webhook scope. Pure.

Rules: cmd and pkg/scheduler/util.go (how the configuration is read), pkg/webhooks/admission/queues (what a queue may
be), plugins capacity and proportion, of Volcano v1.8.0 to v1.15.1; PriorityClass of Kubernetes.

Volcano 1.7 to 1.11 calls its admission webhooks for every new pod outside kube-system and its own namespace, with
failurePolicy Fail: while the admission is down, no pod of any user starts. They are no part of gang scheduling
(pkg/webhooks/admission/pods of v1.8.2 and v1.10.0): they refuse Volcano's pods whose PodGroup does not exist, which the
scheduler ignores anyway, or whose queue is not open, and label pods of resource groups, of which upstream configures
none. Since 1.12 they do not exist. Volcano's webhooks on its own kinds are not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from kubeflow_volcano.catalog.evictions.presets import UPSTREAM, with_preset
from kubeflow_volcano.cluster.admission.webhooks import WEBHOOK_KINDS
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.gang.flags import set_flags
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from kubeflow_volcano.rollout.settings.volcano import PodWebhookSettings, SchedulingSettings, quantities

CONFIGURATION = "volcano-scheduler.conf"
"""Key of the scheduler's ConfigMap; the scheduler reloads it when it changes."""

OPTIONAL_WEBHOOKS = frozenset({"mutatepod.volcano.sh"})
"""Mutate only pods of resource groups, of which upstream configures none; with failurePolicy Ignore, no pod waits."""

_SCHEDULER = "volcano-scheduler"
_QUEUE = "scheduling.volcano.sh/v1beta1"


def configure_scheduling(objects: list[Object], asked: SchedulingSettings, version: str = "") -> None:
    """Write the configuration into Volcano's ConfigMap, set flags, and append the queues and priority classes.

    `version` is Volcano's, of which presets depend; empty is taken for a new one.

    Raises:
        InvalidInput: the objects lack the ConfigMap with the scheduler's configuration, or the scheduler.
    """
    if asked.actions or asked.tiers or asked.preset != UPSTREAM:
        _configure(objects, asked, version)
    if asked.flags:
        _tune(objects, asked.flags)
    objects.extend(_priority_class(item) for item in asked.priority_classes)
    states = wanted_states(asked.queues)
    objects.extend(_queue(item) for item in asked.queues if states[item["name"]] is not QueueState.ABSENT)


def scope_pod_webhooks(objects: Iterable[Object], asked: PodWebhookSettings) -> None:
    """Set failure policy and namespaces of the webhooks on pods; namespaces that upstream excludes stay excluded."""
    for hook in _on_pods(objects):
        hook["failurePolicy"] = asked.failure_policy
        if asked.namespaces:
            selector = hook.get("namespaceSelector") or {}
            labels = {**(selector.get("matchLabels") or {}), **asked.namespaces}
            hook["namespaceSelector"] = {**selector, "matchLabels": labels}


def _configure(objects: Iterable[Object], asked: SchedulingSettings, version: str) -> None:
    for obj in objects:
        if obj["kind"] == "ConfigMap" and CONFIGURATION in (obj.get("data") or {}):
            parsed = with_preset(asked.preset, read_yaml(obj["data"][CONFIGURATION]), version)
            if asked.actions:
                parsed["actions"] = ", ".join(asked.actions)
            if asked.tiers:
                parsed["tiers"] = [*asked.tiers]
            obj["data"][CONFIGURATION] = yaml.safe_dump(parsed, sort_keys=False)
            return
    raise InvalidInput.problem(
        f"manifests of Volcano without a ConfigMap that has {CONFIGURATION}.",
        "the scheduler's configuration, which volcano_scheduler_preset, _actions and _tiers change.",
        "correct volcano_source.",
    )


def _tune(objects: Iterable[Object], flags: Mapping[str, Any]) -> None:
    for obj in objects:
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == _SCHEDULER:
            container = obj["spec"]["template"]["spec"]["containers"][0]
            set_flags(container, {f"--{name}": str(flags[name]) for name in sorted(flags)}, first=True)
            return
    raise InvalidInput.problem(
        f"manifests of Volcano without a Deployment {_SCHEDULER}.",
        "the scheduler, which gets volcano_scheduler_flags.",
        "correct volcano_source.",
    )


def _queue(asked: Mapping[str, Any]) -> Object:
    spec: Object = {"weight": 1} | {key: value for key, value in asked.items() if key not in {"name", "state"}}
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
    return new_object("scheduling.k8s.io/v1", "PriorityClass", str(asked["name"]), **rest)


def _on_pods(objects: Iterable[Object]) -> Iterator[Object]:
    for obj in objects:
        if obj["kind"] in WEBHOOK_KINDS:
            for hook in obj.get("webhooks") or ():
                if any("pods" in rule["resources"] for rule in hook.get("rules") or ()):
                    yield hook
