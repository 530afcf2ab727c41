"""Which nodes Volcano takes at all, the groups of nodes that queues are for, and whether there are such nodes.

Rules: nodeCanAddCache of pkg/scheduler/cache/event_handlers.go of Volcano, v1.8.0 to v1.15.1, for --node-selector;
pkg/scheduler/plugins/nodegroup, v1.9.0 to v1.15.1, for groups. A node without the label is in no group, and only
without `strict` (1.14 and later) open to queues without affinity. Until 1.12 the plugin looks at pods that name their
queue (those of Volcano's own jobs do), later at all pods of the queue, which inherits the affinity of its parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import Configuration, knows
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, failed, warned
from kubeflow_volcano.validators.core.resources import CONFIGMAPS, DEPLOYMENTS, NODES, QUEUES
from kubeflow_volcano.validators.subjects.gang import scheduler_configuration
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import Unusable

READS = (NODES, DEPLOYMENTS, CONFIGMAPS)
"""What `misplaced` reads beside queues; it says nothing where it may not."""
_LABEL = "volcano.sh/nodegroup-name"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_INHERITS_SINCE = "1.13.0"
_DEEPEST = 16


def configuration(facts: Facts) -> Configuration | None:
    """The scheduler's configuration; None where it is unknown."""
    place = facts.expectations.scheduler
    if facts.unread.keys() & {DEPLOYMENTS, CONFIGMAPS}:
        return None
    deployment = facts.get(DEPLOYMENTS, place.namespace, place.name)
    chosen = scheduler_configuration.read(deployment, facts) if deployment else None
    return None if isinstance(chosen, Unusable) else chosen


def unknown(facts: Facts) -> Outcome | None:
    """That --node-selector of the scheduler leaves every node out; None where it takes some, or nothing tells."""
    labels = scheduler_configuration.node_labels(facts)
    nodes = () if facts.unread.keys() & {NODES, DEPLOYMENTS} else facts.all(NODES)
    if not labels or not nodes or any(knows(labels, node) for node in nodes):
        return None
    place, texts = facts.expectations.scheduler, [f"{label}={value}" for label, value in labels]
    return failed(
        "NoNodeServed",
        f"{place} was started with --node-selector, and no node has a label that it names: {few(texts)}. To the "
        "scheduler the cluster has no node.",
        expected=f"nodes with a label of {few(texts)}, or a scheduler without the flag",
        observed={"labels": texts, "nodes": len(nodes)},
        objects=[place],
        todo="label the nodes that are for Volcano, or remove --node-selector from the scheduler's arguments.",
        commands=[f"kubectl get nodes -L {','.join(label for label, _ in labels)}"],
    )


def misplaced(facts: Facts) -> Outcome | None:
    """Queues whose groups no node has: a failure for queue default, else a warning. None where all is well."""
    chosen = configuration(facts)
    if chosen is None or NODES in facts.unread or not facts.objects.get(NODES):
        return None
    queues = {item["metadata"]["name"]: item for item in facts.all(QUEUES) if item["metadata"]["name"] != "root"}
    named = {name: affinity for name, item in queues.items() if (affinity := _affinity(item))}
    if "nodegroup" not in chosen.plugins:
        return _unread([*named]) if named else None
    if version_key(scheduler_configuration.version(facts) or "0") >= version_key(_INHERITS_SINCE):
        named = {name: found for name in queues if (found := _inherited(name, queues))}
    groups = {(item["metadata"].get("labels") or {}).get(_LABEL, "") for item in facts.objects[NODES]}
    arguments = chosen.plugins["nodegroup"].get("arguments") or {}
    strict = arguments.get("strict") is not False
    homeless = {
        name: named.get(name, {})
        for name in queues
        if not (any(_accepts(named[name], item) for item in groups) if name in named else not strict and "" in groups)
    }
    return _homeless(homeless, sorted(groups - {""})) if homeless else None


def _homeless(queues: Mapping[str, Mapping[str, Any]], groups: Sequence[str]) -> Outcome:
    texts = [f"{name} (for {few(sorted(_wanted(item))) or 'no group'})" for name, item in queues.items()]
    grave = bool(queues.get("default"))
    make = failed if grave else warned
    return make(
        "NoNodeOfGroup",
        f"plugin nodegroup is on, and no node accepts pods of queue {few(texts)}. Groups of nodes: "
        f"{few(groups) or 'none'}.",
        expected=f"a node with the label {_LABEL} for each queue",
        observed={name: sorted(_wanted(affinity)) for name, affinity in queues.items()},
        objects=[_queue(name) for name in sorted(queues, key=lambda name: name != "default")],
        todo=f"label nodes with {_LABEL}, correct spec.affinity of the queues, or remove plugin nodegroup.",
        commands=[f"kubectl get nodes -L {_LABEL}"],
    )


def _unread(names: Sequence[str]) -> Outcome:
    return warned(
        "AffinityNotRead",
        f"spec.affinity of queue {few(names)} is not read: plugin nodegroup is not configured.",
        expected="plugin nodegroup in a tier of the scheduler's configuration",
        objects=[_queue(name) for name in names],
        todo="add plugin nodegroup, whereupon each queue needs a group of nodes, or remove spec.affinity.",
    )


def _queue(name: str) -> Ref:
    return Ref("scheduling.volcano.sh/v1beta1", "Queue", "", name)


def _affinity(queue: Object) -> Mapping[str, Any]:
    """Groups by their kind of affinity; empty where there are none."""
    spec = queue.get("spec", {}).get("affinity") or {}
    found = {
        f"{kind} {strength}": set((spec.get(f"nodeGroup{kind}") or {}).get(strength) or ())
        for kind in ("Affinity", "AntiAffinity")
        for strength in (_REQUIRED, _PREFERRED)
    }
    return {key: names for key, names in found.items() if names}


def _inherited(name: str, queues: Mapping[str, Object]) -> Mapping[str, Any]:
    for _ in range(_DEEPEST):
        if name not in queues:
            return {}
        if found := _affinity(queues[name]):
            return found
        name = queues[name].get("spec", {}).get("parent") or ""
    return {}


def _wanted(affinity: Mapping[str, Any]) -> set[str]:
    return set().union(*(names for key, names in affinity.items() if key.startswith("Affinity")))


def _accepts(affinity: Mapping[str, Any], group: str) -> bool:
    """Whether nodes of a group accept pods of a queue with this affinity (predicate of the plugin)."""

    def has(key: str) -> bool:
        return group in affinity.get(key, ())

    wanted = has(f"Affinity {_REQUIRED}") or has(f"Affinity {_PREFERRED}")
    allowed = wanted and not has(f"AntiAffinity {_REQUIRED}")
    return bool(group) and (allowed or has(f"AntiAffinity {_PREFERRED}"))
