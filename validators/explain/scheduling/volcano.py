"""Volcano as several stages see it: its scheduler's configuration, its queues, what a gang requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO as GANGS
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import amounts, pod_requests, total
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import (
    UNLIMITED_AT_ZERO,
    Configuration,
    Unusable,
    read,
    version,
)

PODGROUPS = GANGS.podgroups
QUEUES = "queues.scheduling.volcano.sh"
_OF_QUOTAS = ("requests.", "limits.", "count/")
_HIERARCHY_SINCE = "1.11.0"
_DEEPEST = 16


def configuration(facts: Facts) -> Configuration | None:
    """The scheduler's configuration; None where there is no scheduler, or its configuration cannot be read."""
    place = facts.expectations.scheduler
    scheduler = facts.get("deployments.apps", place.namespace, place.name)
    chosen = read(scheduler, facts) if scheduler else None
    return None if isinstance(chosen, Unusable) else chosen


def plugins(facts: Facts) -> Mapping[str, Mapping[str, Any]]:
    """The scheduler's plugins with their options; none where its configuration is unknown."""
    chosen = configuration(facts)
    return chosen.plugins if chosen else {}


def enqueues(facts: Facts) -> bool:
    """Whether action enqueue admits PodGroups, by what their minResources request; assumed where it is unknown.

    Without it, allocate takes them as they come, and only what pods hold counts (pickUpQueuesAndJobs of
    pkg/scheduler/actions/allocate, v1.8.0 to v1.15.1).
    """
    chosen = configuration(facts)
    return chosen is None or "enqueue" in chosen.actions


def shares(facts: Facts) -> bool:
    """Whether a plugin holds queues to their capability and guarantees; assumed where the configuration is unknown.

    Only proportion and capacity read them (pkg/scheduler/plugins, v1.8.0 to v1.15.1).
    """
    chosen = configuration(facts)
    return chosen is None or not {"proportion", "capacity"}.isdisjoint(chosen.plugins)


def older(running: str, than: str) -> bool:
    """Whether this version of Volcano is known, and older."""
    return bool(running) and version_key(running) < version_key(than)


def queues_by_name(facts: Facts) -> Mapping[str, Object]:
    """Every queue of the cluster."""
    return {item["metadata"]["name"]: item for item in facts.all(QUEUES)}


def queue_ref(name: str) -> Ref:
    """Reference of a queue."""
    return Ref(GANGS.api_version, "Queue", "", name)


def queue_of(group: Object) -> str:
    """Name of the PodGroup's queue."""
    return group["spec"].get("queue") or "default"


def capability(queue: Object) -> dict[str, Decimal]:
    """The queue's limits; 0 CPU or memory is unlimited (proportion.go), 0 of another resource is none of it."""
    limits = amounts(queue["spec"].get("capability"))
    return {name: most for name, most in limits.items() if most or name not in UNLIMITED_AT_ZERO}


def ancestors(name: str, queues: Mapping[str, Object], facts: Facts) -> Iterator[str]:
    """The queue, then its parents where the scheduler applies their limits."""
    for _ in range(_DEEPEST if is_hierarchical(facts) else 1):
        if name not in queues:
            return
        yield name
        name = queues[name]["spec"].get("parent") or ""


def is_hierarchical(facts: Facts) -> bool:
    """Whether a parent's limits apply to its children: plugin capacity with enableHierarchy, Volcano 1.11 and later.

    Rule: HierarchyEnabled of pkg/scheduler/plugins/capacity; earlier versions ignore spec.parent.
    """
    if older(version(facts), _HIERARCHY_SINCE):
        return False
    return plugins(facts).get("capacity", {}).get("enableHierarchy") is True


def min_resources(group: Object | None) -> dict[str, Decimal]:
    """The PodGroup's minResources, without the names of quotas that Volcano's own jobs add to it since 1.9."""
    asked = amounts((group or {"spec": {}})["spec"].get("minResources"))
    return {name: most for name, most in asked.items() if name != "pods" and not name.startswith(_OF_QUOTAS)}


def gang_requests(situation: Situation) -> dict[str, Decimal]:
    """What the gang requests: minResources, or more where its pods do; without minResources the sum of all pods."""
    least = min_resources(situation.group)
    if least:
        # Trainer leaves resourcesPerNode out of minResources (kubeflow/trainer#2980): its gangs are admitted too early.
        whole = _created(situation) if situation.minimum >= situation.job.wanted else {}
        return least | {name: amount for name, amount in whole.items() if amount > least.get(name, Decimal(0))}
    return pods_requests(situation)


def pods_requests(situation: Situation) -> dict[str, Decimal]:
    """What the pods of the gang request; before any of them exists, what those of its templates will request."""
    templates = (
        {name: amount * role.replicas for name, amount in pod_requests(role.template["spec"]).items()}
        for role in situation.job.roles
    )
    return _created(situation) or total(templates)


def _created(situation: Situation) -> dict[str, Decimal]:
    return total(pod_requests(pod["spec"]) for pod in situation.pods)
