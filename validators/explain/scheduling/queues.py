"""Does the queue admit the gang: does it exist, is it open, and is there room under its capability.

Rules, of Volcano v1.8.0 to v1.15.1. Snapshot of pkg/scheduler/cache ignores a PodGroup of an unknown queue. A queue
that is not Open gets no new pods up to v1.11 (pkg/webhooks/admission/pods); from v1.12 on it gets no PodGroups
(admission/podgroups), and no pod of it is placed (AllocatableFn of plugins proportion and capacity). JobEnqueueableFn
of these two holds allocated pods, PodGroups in phase Inqueue and minResources of the group against the capability, and
admits a group without minResources; their AllocatableFn holds allocated pods and the next one against it. Without
either plugin nothing reads a capability. Queues with children: isLeafQueue of plugin capacity, from v1.11 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, has_ended
from kubeflow_volcano.cluster.pods.quantities import Amounts, pod_requests, readable, total
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding, pod_group_name
from kubeflow_volcano.validators.explain.queue_marks import field_of_queue, unread_queues
from kubeflow_volcano.validators.explain.scheduling.volcano import (
    PODGROUPS,
    QUEUES,
    ancestors,
    capability,
    enqueues,
    gang_requests,
    is_hierarchical,
    min_resources,
    older,
    queue_of,
    queue_ref,
    queues_by_name,
    shares,
)
from kubeflow_volcano.validators.subjects.gang import scheduler_configuration
from kubeflow_volcano.validators.subjects.gang.queue_opening import open_command

_MOST_HOLDERS = 3
_PLACES_NONE_SINCE = "1.12.0"
_ZERO = Decimal(0)


def queue(situation: Situation) -> Iterator[Finding]:
    """The gang's queue, or a parent of it, does not admit the gang; or it is not the one that the job names."""
    if situation.group is None:
        return
    found = [*_admission(situation)]
    unread = unread_queues(situation.obj, situation.job)
    if others := {place: name for place, name in unread.items() if name != situation.queue}:
        field = field_of_queue(situation.obj)
        yield finding(
            "QueueNotRead",
            f"{'; '.join(f'{place}: {name}' for place, name in others.items())}. Nothing reads a queue there: the gang "
            f"is in queue {situation.queue}.",
            needed=f"the queue in {field}.",
            todo=f"recreate the job with the queue in {field} (a job's queue is immutable).",
            objects=[situation.job.ref],
            blocks=any(item.blocks for item in found),
        )
    yield from found


def _admission(situation: Situation) -> Iterator[Finding]:
    name = situation.queue
    queues = queues_by_name(situation.facts)
    if name not in queues:
        yield finding(
            "QueueMissing",
            f"{situation.group_ref} names the queue {name}, which does not exist: Volcano ignores the PodGroup.",
            needed=f"an existing queue; there are {', '.join(sorted(queues)) or 'none'}.",
            todo="create the Queue, or recreate the job with an existing one (a job's queue is immutable).",
            objects=[queue_ref(name)],
        )
        return
    state = queues[name].get("status", {}).get("state") or "Unknown"
    if state != "Open":
        yield _not_open(state, queues[name], situation)
    children = [item for item, other in queues.items() if other["spec"].get("parent") == name]
    if children and is_hierarchical(situation.facts):
        yield finding(
            "QueueNotLeaf",
            f"queue {name} has child queues, {', '.join(sorted(children))}: plugin capacity schedules no pod of it.",
            needed="a queue without child queues.",
            todo="recreate the job with one of these child queues.",
            objects=[queue_ref(name)],
        )
    for above in ancestors(name, queues, situation.facts) if shares(situation.facts) else ():
        if found := _over_capability(above, queues, situation):
            yield found
            return


def _not_open(state: str, found: Object, situation: Situation) -> Finding:
    name, missing = found["metadata"]["name"], situation.missing > 0
    running = scheduler_configuration.version(situation.facts)
    waits = situation.unscheduled > 0 and shares(situation.facts) and not older(running, _PLACES_NONE_SINCE)
    return finding(
        f"Queue{state}",
        f"queue {name} is {state}; {len(situation.pods)} of {max(situation.job.wanted, situation.minimum)} pods exist. "
        f"{'It accepts no new pods' if missing else 'Volcano places none of them' if waits else 'Existing pods stay'}.",
        needed="an Open queue.",
        todo="open the queue, or recreate the job with another one.",
        objects=[queue_ref(name)],
        changes=[
            open_command(
                found,
                running,
                situation.facts.expectations.scheduler.namespace,
            )
        ],
        blocks=missing or waits,
    )


def is_open(situation: Situation) -> bool:
    """Whether the queue is known to accept new pods."""
    found = situation.facts.get(QUEUES, "", situation.queue)
    return bool(found) and (found or {}).get("status", {}).get("state") == "Open"


def _over_capability(name: str, queues: Mapping[str, Object], situation: Situation) -> Finding | None:
    """The queue's capability is too small for the gang beside the other gangs of the queue."""
    limits = capability(queues[name])
    if not limits or situation.unscheduled <= 0 or situation.group is None:
        return None
    asked = gang_requests(situation)
    own = (situation.job.ref.namespace, situation.group["metadata"]["name"])
    below = {item for item in queues if name in ancestors(item, queues, situation.facts)}
    waits = situation.phase in {"", "Pending"} and bool(min_resources(situation.group)) and enqueues(situation.facts)
    held = {key: amount for key, amount in _held(situation.facts, below, promises=waits).items() if key != own}
    in_use = total(held.values())
    over = {
        key: most
        for key, most in limits.items()
        if asked.get(key, _ZERO) > 0 and asked[key] + in_use.get(key, _ZERO) > most
    }
    if not over:
        return None
    never = [key for key, most in over.items() if asked[key] > most]
    numbers = "; ".join(
        f"{key}: the gang requests {readable(key, asked[key])}, {readable(key, in_use.get(key, _ZERO))} of "
        f"{readable(key, most)} in use"
        for key, most in over.items()
    )
    first = next(iter(over))
    holders = sorted(held, key=lambda key: held[key].get(first, _ZERO), reverse=True)
    return finding(
        "OverCapability" if never else "QueueFull",
        f"the capability of queue {name} is too small: {numbers}.",
        needed=f"room for the whole gang within the capability of queue {name}.",
        todo=f"raise spec.capability of the queue, or request less {', '.join(never)}: otherwise the gang never starts."
        if never
        else "wait until other gangs of the queue end, raise its spec.capability, or use another queue.",
        objects=[queue_ref(name)],
        commands=[f"kubectl get {QUEUES} {name} -o yaml"],
        details=[
            f"PodGroup {'/'.join(key)} holds "
            + ", ".join(f"{readable(item, held[key][item])} {item}" for item in over if held[key].get(item))
            for key in holders[:_MOST_HOLDERS]
            if any(held[key].get(item) for item in over)
        ],
    )


def _held(facts: Facts, queues: set[str], *, promises: bool) -> dict[tuple[str, str], Amounts]:
    """What each PodGroup of these queues holds: its pods on nodes, and with `promises` what enqueue admitted of it."""
    on_node = placed(facts)
    found: dict[tuple[str, str], Amounts] = {}
    for group in facts.all(PODGROUPS):
        if queue_of(group) not in queues:
            continue
        key = (group["metadata"]["namespace"], group["metadata"]["name"])
        if promises and group.get("status", {}).get("phase") == "Inqueue":
            promised, on_nodes = min_resources(group), on_node.get(key, {})
            names = {**promised, **on_nodes}
            found[key] = {name: max(promised.get(name, _ZERO), on_nodes.get(name, _ZERO)) for name in names}
        elif key in on_node:
            found[key] = on_node[key]
    return found


def placed(facts: Facts) -> dict[tuple[str, str], dict[str, Decimal]]:
    """What the pods of each PodGroup that have a node request."""
    found: dict[tuple[str, str], dict[str, Decimal]] = {}
    for pod in facts.all("pods"):
        name = pod_group_name(pod)
        if name and pod["spec"].get("nodeName") and not has_ended(pod):
            key = (pod["metadata"]["namespace"], name)
            found[key] = total((found.get(key, {}), pod_requests(pod["spec"])))
    return found
