"""Does the queue let the gang in: is it there and open, and is there room under its capability.

Rules: pkg/scheduler/cache (a PodGroup of an unknown queue is not looked at), pkg/webhooks/admission (only an open
queue takes new work) and JobEnqueueable of the plugins proportion, capacity and overcommit, Volcano v1.8.0 to v1.10.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from validators.core.facts import Facts
from validators.explain.model import GROUP_NAME, VOLCANO, Finding, Situation, finding
from validators.explain.placing.nodes import nodes_of
from validators.explain.placing.packing import fits
from validators.explain.placing.room import groups_of
from validators.subjects.gang import scheduler_configuration
from validators.subjects.gang.queue_opening import open_command

__all__ = ["QUEUE", "SCHEDULER", "and_above", "gang_requests", "hierarchical", "queue_open", "queueing", "reserved"]

SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
_QUEUES = "queues.scheduling.volcano.sh"
_GROUPS = "podgroups.scheduling.volcano.sh"
QUEUE = "scheduling.volcano.sh/v1beta1", "Queue"
_ENDED = frozenset({"Succeeded", "Failed"})
_HOLDERS = 3
_OVERCOMMIT = Decimal("1.2")
_DEEPEST = 16
_HIERARCHY_SINCE = "1.11.0"
_OF_QUOTAS = ("requests.", "limits.", "count/")


def queueing(situation: Situation) -> Iterator[Finding]:
    """What the queue, and the queues above it, say to the gang."""
    if situation.group is None:
        return
    name = situation.queue
    queues = {item["metadata"]["name"]: item for item in situation.facts.all(_QUEUES)}
    ref = Ref(*QUEUE, "", name)
    if name not in queues:
        yield finding(
            "QueueMissing",
            f"{situation.group_ref} is for the queue {name}, which does not exist: Volcano does not look at it.",
            needed=f"a queue of that name; there are {', '.join(sorted(queues)) or 'none'}.",
            todo="make the queue, or make the job anew with one that exists: its queue cannot be changed.",
            objects=[ref],
        )
        return
    state = queues[name].get("status", {}).get("state") or "Unknown"
    if state != "Open":
        new = len(situation.pods) < max(situation.job.wanted, situation.minimum)
        yield finding(
            f"Queue{state}",
            f"the queue {name} is {state}, and {len(situation.pods)} of "
            f"{max(situation.job.wanted, situation.minimum)} pods exist: "
            f"{'it takes no new pods' if new else 'what is in it goes on'}.",
            needed="a queue that is Open.",
            todo="open the queue, or make the job anew for another one.",
            objects=[ref],
            commands=[open_command(queues[name], scheduler_configuration.version(situation.facts))],
            blocks=new,
        )
    children = [item for item, queue in queues.items() if queue["spec"].get("parent") == name]
    if children and hierarchical(situation.facts):
        yield finding(
            "QueueNotLeaf",
            f"the queue {name} has others below it, {', '.join(sorted(children))}: capacity places nobody in it.",
            needed="a queue without others below it.",
            todo="make the job anew for one of those below.",
            objects=[ref],
        )
    for above in and_above(name, queues, situation.facts):
        if found := _capability(above, queues, situation):
            yield found
            return


def queue_open(situation: Situation) -> bool:
    """Whether the queue is known to take new pods."""
    found = situation.facts.get(_QUEUES, "", situation.queue)
    return bool(found) and (found or {}).get("status", {}).get("state") == "Open"


def and_above(name: str, queues: Mapping[str, Object], facts: Facts) -> Iterator[str]:
    """The queue, and those that it is a part of by spec.parent where the scheduler heeds that."""
    deepest = _DEEPEST if hierarchical(facts) else 1
    for _ in range(deepest):
        if name not in queues:
            return
        yield name
        name = queues[name]["spec"].get("parent") or ""


def hierarchical(facts: Facts) -> bool:
    """Whether queues above hold for those below: plugin capacity with enableHierarchy, Volcano 1.11 and later.

    Rule: HierarchyEnabled of pkg/scheduler/plugins/capacity; before, nothing reads spec.parent.
    """
    scheduler = facts.get("deployments.apps", SCHEDULER.namespace, SCHEDULER.name)
    if scheduler is None:
        return False
    found = scheduler_configuration.read(scheduler, facts)
    if isinstance(found, scheduler_configuration.Unusable):
        return False
    version = scheduler_configuration.version(facts)
    known = not version or version_key(version) >= version_key(_HIERARCHY_SINCE)
    return known and found.plugins.get("capacity", {}).get("enableHierarchy") is True


def _capability(name: str, queues: Mapping[str, Object], situation: Situation) -> Finding | None:
    ceiling = amounts(queues[name]["spec"].get("capability"))
    if not ceiling or len(situation.placed) >= situation.minimum:
        return None
    asked = gang_requests(situation)
    own = (situation.job.ref.namespace, (situation.group or {})["metadata"]["name"])
    parts = {item for item in queues if name in and_above(item, queues, situation.facts)}
    held = {key: amount for key, amount in _held(situation.facts, parts).items() if key != own}
    in_use = total(held.values())
    zero = Decimal(0)
    # CPU and memory of 0 count as no limit (proportion.go), other resources as none of it.
    limits = {key: most for key, most in ceiling.items() if most > 0 or key not in {"cpu", "memory"}}
    over = {key: most for key, most in limits.items() if asked.get(key, zero) + in_use.get(key, zero) > most}
    over = {key: most for key, most in over.items() if asked.get(key, zero) > 0}
    if not over:
        return None
    never = {key: most for key, most in over.items() if asked[key] > most}
    numbers = "; ".join(
        f"{key}: the gang asks for {readable(key, asked[key])}, {readable(key, in_use.get(key, zero))} of "
        f"{readable(key, most)} are taken"
        for key, most in over.items()
    )
    first = next(iter(over))
    holders = sorted(held, key=lambda key: held[key].get(first, zero), reverse=True)
    return finding(
        "OverCapability" if never else "QueueFull",
        f"the capability of queue {name} is too small: {numbers}.",
        needed=f"room for the whole gang under the capability of queue {name}.",
        todo=f"raise spec.capability of the queue, or ask for less {', '.join(never)}: so it will never start."
        if never
        else "wait until others of the queue end, raise its spec.capability, or use another queue.",
        objects=[Ref(*QUEUE, "", name)],
        commands=[f"kubectl get queues.scheduling.volcano.sh {name} -o yaml"],
        details=[
            f"PodGroup {'/'.join(key)} holds {_told(held[key], over)}"
            for key in holders[:_HOLDERS]
            if any(held[key].get(item) for item in over)
        ],
    )


def _told(held: Amounts, names: Iterable[str]) -> str:
    return ", ".join(f"{readable(name, held[name])} {name}" for name in names if held.get(name))


def gang_requests(situation: Situation) -> dict[str, Decimal]:
    """What the gang asks for: minResources, or more where its pods do, else the sum over the pods that are known."""
    least = _of_nodes((situation.group or {"spec": {}})["spec"].get("minResources"))
    made = [pod_requests(pod["spec"]) for pod in situation.pods]
    if least:
        # Trainer leaves resourcesPerNode out of minResources (kubeflow/trainer#2980): the gang enters, and waits then.
        whole = total(made) if situation.minimum >= situation.job.wanted else {}
        return least | {name: amount for name, amount in whole.items() if amount > least.get(name, Decimal(0))}
    templates = [
        {name: amount * role.replicas for name, amount in pod_requests(role.template["spec"]).items()}
        for role in situation.job.roles
    ]
    return total(made or templates)


def _of_nodes(resources: Mapping[str, str] | None) -> dict[str, Decimal]:
    """Without the names of quotas, which Volcano's own jobs have in minResources since 1.9."""
    found = amounts(resources)
    return {name: most for name, most in found.items() if name != "pods" and not name.startswith(_OF_QUOTAS)}


def _held(facts: Facts, queues: set[str]) -> dict[tuple[str, str], Amounts]:
    """What each PodGroup of these queues has: its pods on nodes, or all of minResources once it is admitted."""
    placed = _placed(facts)
    found: dict[tuple[str, str], Amounts] = {}
    for group in facts.all(_GROUPS):
        if (group["spec"].get("queue") or "default") not in queues:
            continue
        key = (group["metadata"]["namespace"], group["metadata"]["name"])
        if group.get("status", {}).get("phase") == "Inqueue":
            promised = _of_nodes(group["spec"].get("minResources"))
            on_nodes = placed.get(key, {})
            names = {**promised, **on_nodes}
            zero = Decimal(0)
            found[key] = {name: max(promised.get(name, zero), on_nodes.get(name, zero)) for name in names}
        elif key in placed:
            found[key] = placed[key]
    return found


def _placed(facts: Facts) -> dict[tuple[str, str], dict[str, Decimal]]:
    found: dict[tuple[str, str], dict[str, Decimal]] = {}
    for pod in facts.all("pods"):
        name = (pod["metadata"].get("annotations") or {}).get(GROUP_NAME)
        if name and pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in _ENDED:
            key = (pod["metadata"]["namespace"], name)
            found[key] = total((found.get(key, {}), pod_requests(pod["spec"])))
    return found


def reserved(situation: Situation) -> Iterator[Finding]:
    """There is room on the nodes, and others were let in first: the sum of what is admitted is limited (overcommit)."""
    if situation.group is None or situation.phase not in {"", "Pending"} or not _handed_over(situation):
        return
    nodes = nodes_of(situation.facts.all("nodes"), situation.facts.all("pods"))
    missing = situation.minimum - len(situation.placed)
    asked = gang_requests(situation)
    factor = _factor(situation.facts)
    if factor is None or missing <= 0 or not asked or fits(groups_of(situation), nodes, missing) < missing:
        return
    zero = Decimal(0)
    idle = {
        name: sum((node.allocatable.get(name, zero) * factor - node.used.get(name, zero) for node in nodes), zero)
        for name in asked
    }
    own = Ref.of(situation.group)
    others: dict[str, Amounts] = {}
    for group in situation.facts.all(_GROUPS):
        key = (group["metadata"]["namespace"], group["metadata"]["name"])
        if group.get("status", {}).get("phase") == "Inqueue" and Ref.of(group) != own:
            others["/".join(key)] = _of_nodes(group["spec"].get("minResources"))
    promised = total(others.values())
    over = [name for name, amount in asked.items() if promised.get(name, zero) and promised[name] + amount > idle[name]]
    if over:
        numbers = "; ".join(
            f"{name}: the gang asks for {readable(name, asked[name])}, {readable(name, promised.get(name, zero))} of "
            f"{readable(name, idle[name])} are promised to others"
            for name in over
        )
        yield finding(
            "ReservedByOthers",
            f"there is room on the nodes, and Volcano keeps it for PodGroups that it let in before: {numbers}.",
            needed="that what is promised to PodGroups in phase Inqueue leaves room for this one.",
            todo="see why those do not start, and end what nobody waits for.",
            objects=[Ref(own.api_version, own.kind, *name.split("/")) for name in others],
            details=[
                f"PodGroup {name}: {_told(amount, over)}" for name, amount in others.items() if _told(amount, over)
            ],
        )


def _handed_over(situation: Situation) -> bool:
    return all((pod["spec"].get("schedulerName") or "") == VOLCANO for pod in situation.unplaced)


def _factor(facts: Facts) -> Decimal | None:
    """By how much may be admitted more than there is; None where plugin overcommit is off or nobody knows."""
    scheduler = facts.get("deployments.apps", SCHEDULER.namespace, SCHEDULER.name)
    if scheduler is None:
        return None
    found = scheduler_configuration.read(scheduler, facts)
    if isinstance(found, scheduler_configuration.Unusable) or "overcommit" not in found.plugins:
        return None
    given = (found.plugins["overcommit"].get("arguments") or {}).get("overcommit-factor", _OVERCOMMIT)
    try:
        factor = Decimal(str(given))
    except InvalidOperation:
        return _OVERCOMMIT
    return factor if factor >= 1 else _OVERCOMMIT
