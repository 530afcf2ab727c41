"""A queue's share by weight, as Volcano's plugin proportion divides the cluster, and guarantees to other queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, conditions, has_ended
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.cluster.volcano import knows
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding, pod_group_name
from kubeflow_volcano.validators.explain.scheduling.volcano import (
    PODGROUPS,
    QUEUES,
    ancestors,
    capability,
    gang_requests,
    plugins,
    queue_of,
    queue_ref,
    queues_by_name,
    shares,
)
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import node_labels

_ZERO = Decimal(0)
_ROUNDS = 100


@dataclass(slots=True)
class Share:
    """One queue: what its placed pods hold, what all its pods request, and what it deserves.

    `ceiling` is its capability. All amounts are by resource.
    """

    weight: int
    ceiling: Amounts
    guarantee: Amounts
    held: dict[str, Decimal] = field(default_factory=dict)
    wanted: dict[str, Decimal] = field(default_factory=dict)
    deserved: dict[str, Decimal] = field(default_factory=dict)


def share(situation: Situation) -> Iterator[Finding]:
    """The queue already holds its share: its next pods wait until pods of other queues end or request less.

    Rule: AllocatableFn of pkg/scheduler/plugins/proportion of Volcano, v1.8.0 to v1.15.1: a pod that would take its
    queue over its share is not placed, even if nodes have room.
    """
    facts = situation.facts
    if situation.group is None or not situation.unplaced or situation.unscheduled <= 0:
        return
    if situation.phase in {"", "Pending"} or "proportion" not in plugins(facts):
        return
    queues = share_of_each(facts)
    own = queues.get(situation.queue)
    if own is None:
        return
    whole = allocatable(facts)
    divide(queues, whole)
    for pod in situation.unplaced:
        asked = {name: amount for name, amount in pod_requests(pod["spec"]).items() if amount > 0}
        after = total((own.held, asked))
        # A resource that the cluster lacks altogether is not a matter of shares.
        over = [name for name in asked if own.deserved.get(name, _ZERO) < after[name] <= whole.get(name, _ZERO)]
        rivals = [
            name for name, item in queues.items() if item is not own and any(item.wanted.get(key) for key in over)
        ]
        if rivals:
            yield _over(situation, {name: asked[name] for name in over}, own, rivals)
            return


def _over(situation: Situation, asked: Amounts, own: Share, rivals: Sequence[str]) -> Finding:
    numbers = "; ".join(
        f"{name}: holds {readable(name, own.held.get(name, _ZERO))}, share "
        f"{readable(name, own.deserved.get(name, _ZERO))}, a pod requests {readable(name, amount)}"
        for name, amount in asked.items()
    )
    return finding(
        "OverShare",
        f"queue {situation.queue} holds its share by weight: {numbers}. Other queues that request the same: "
        f"{', '.join(rivals)}.",
        needed="a share with room for the pods; queues that request the same resource divide it by weight.",
        todo="raise the weight of the queue, use another queue, or wait until pods of other queues end.",
        objects=[queue_ref(situation.queue)],
        commands=[f"kubectl get {QUEUES} -o custom-columns=NAME:.metadata.name,W:.spec.weight"],
    )


def guarantees(situation: Situation) -> Iterator[Finding]:
    """Guarantees of other queues leave no room for the gang, used or not.

    Rule: realCapability of pkg/scheduler/plugins/proportion and capacity of Volcano, v1.8.0 to v1.15.1.
    """
    facts, own = situation.facts, situation.queue
    if situation.group is None or situation.unscheduled <= 0 or not shares(facts):
        return
    queues = queues_by_name(facts)
    others = {
        name: share_of(item).guarantee for name, item in queues.items() if name not in ancestors(own, queues, facts)
    }
    kept, whole = total(others.values()), allocatable(facts)
    held = found.held if (found := share_of_each(facts).get(own)) else {}
    after = total((held, gang_requests(situation)))
    over = [name for name in kept if whole.get(name, _ZERO) >= after.get(name, _ZERO) > _left(name, whole, kept)]
    if over:
        numbers = "; ".join(
            f"{name}: {readable(name, after[name])} with the gang, {readable(name, _left(name, whole, kept))} of "
            f"{readable(name, whole[name])} are not guaranteed to others"
            for name in over
        )
        holders = [name for name, amount in others.items() if any(amount.get(key) for key in over)]
        yield finding(
            "GuaranteedToOthers",
            f"guarantees of queue {', '.join(holders)}, used or not, leave queue {own} too little: {numbers}.",
            needed="room for the gang beside the guarantees of other queues.",
            todo="lower spec.guarantee of those queues, use one of them, or request less.",
            objects=[queue_ref(name) for name in holders],
        )


def _left(name: str, everything: Amounts, kept: Amounts) -> Decimal:
    return everything.get(name, _ZERO) - kept[name]


def divide(queues: Mapping[str, Share], everything: Amounts) -> None:
    """Set what each queue deserves: by weight, at most its requests and its capability; others share the rest."""
    left = dict(everything)
    for item in queues.values():
        item.deserved = dict.fromkeys(everything, _ZERO)
    undecided = dict(queues)
    for _ in range(_ROUNDS):
        weight = sum(item.weight for item in undecided.values())
        if not weight:
            return
        given = dict.fromkeys(everything, _ZERO)
        for name, item in list(undecided.items()):
            before = dict(item.deserved)
            for key in everything:
                more = before[key] + left[key] * item.weight / weight
                most = min(more, item.ceiling.get(key, more), item.wanted.get(key, _ZERO))
                item.deserved[key] = max(most, item.guarantee.get(key, _ZERO))
                given[key] += item.deserved[key] - before[key]
            enough = all(item.wanted.get(key, _ZERO) <= item.deserved[key] for key in everything)
            if enough or item.deserved == before:
                del undecided[name]
        left = {key: left[key] - given[key] for key in everything}
        if not any(left.values()) or not any(given.values()):
            return


def share_of_each(facts: Facts) -> dict[str, Share]:
    """Queues with PodGroups: what their pods on nodes hold, and what all their pods request."""
    by_name: dict[str, Share] = {}
    known = queues_by_name(facts)
    of_group: dict[tuple[str, str], str] = {}
    for group in facts.all(PODGROUPS):
        name = queue_of(group)
        if name in known:
            of_group[group["metadata"]["namespace"], group["metadata"]["name"]] = name
            by_name.setdefault(name, share_of(known[name]))
    for pod in facts.all("pods"):
        queue = of_group.get((pod["metadata"]["namespace"], pod_group_name(pod)))
        if queue and not has_ended(pod):
            item, asked = by_name[queue], pod_requests(pod["spec"])
            item.wanted = total((item.wanted, asked))
            if pod["spec"].get("nodeName"):
                item.held = total((item.held, asked))
    return by_name


def share_of(queue: Object) -> Share:
    """The queue without pods: its weight, its capability and its guarantee."""
    spec = queue["spec"]
    guarantee = amounts((spec.get("guarantee") or {}).get("resource"))
    return Share(int(spec.get("weight") or 1), capability(queue), guarantee)


def most_of(queue: str, facts: Facts) -> Amounts:
    """What the queue may use: its capability, at most what other queues are not guaranteed (realCapability)."""
    known, whole = queues_by_name(facts), allocatable(facts)
    if queue not in known:
        return whole
    kept = total(share_of(item).guarantee for name, item in known.items() if name != queue)
    limits = capability(known[queue])
    left = {name: amount - kept.get(name, _ZERO) for name, amount in whole.items()}
    return {name: min(amount, limits.get(name, amount)) for name, amount in left.items()}


def allocatable(facts: Facts) -> dict[str, Decimal]:
    """What the Ready nodes that Volcano knows have together."""
    labels = node_labels(facts)
    known = (item for item in facts.all("nodes") if knows(labels, item))
    ready = (item for item in known if conditions(item).get("Ready", {}).get("status") == "True")
    return total(amounts(item.get("status", {}).get("allocatable")) for item in ready)
