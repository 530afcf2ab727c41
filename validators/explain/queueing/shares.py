"""A queue's share by weight, as Volcano's plugin proportion divides the cluster.

Rules: pkg/scheduler/plugins/proportion/proportion.go, v1.8.0 to v1.15.1. A pod whose queue would hold more than its
share with it is not placed, whatever is free on the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from validators.core.facts import Facts
from validators.explain.model import GROUP_NAME, Finding, Situation, finding
from validators.explain.queueing.queues import QUEUE, SCHEDULER, and_above, gang_requests
from validators.subjects.gang import scheduler_configuration

__all__ = ["Share", "divide", "guarantees", "shares"]

_ZERO = Decimal(0)
_ENDED = frozenset({"Succeeded", "Failed"})
_ROUNDS = 100


@dataclass(slots=True)
class Share:
    """One queue: what its pods hold, what they want in all, and what it deserves. `ceiling` is its capability."""

    weight: int
    ceiling: Amounts
    guarantee: Amounts
    held: dict[str, Decimal] = field(default_factory=dict)
    wanted: dict[str, Decimal] = field(default_factory=dict)
    deserved: dict[str, Decimal] = field(default_factory=dict)


def shares(situation: Situation) -> Iterator[Finding]:
    """The queue holds its share already: its next pods wait until others want less, or end."""
    facts = situation.facts
    if situation.group is None or not situation.unplaced or len(situation.placed) >= situation.minimum:
        return
    if situation.phase in {"", "Pending"} or not _by_weight(facts):
        return
    queues = _queues(facts)
    own = queues.get(situation.queue)
    if own is None:
        return
    everything = _everything(facts)
    divide(queues, everything)
    for pod in situation.unplaced:
        asked = {name: amount for name, amount in pod_requests(pod["spec"]).items() if amount > 0}
        after = total((own.held, asked))
        # What the cluster does not have at all is no matter of shares.
        over = [name for name in asked if own.deserved.get(name, _ZERO) < after[name] <= everything.get(name, _ZERO)]
        rivals = [
            name for name, item in queues.items() if item is not own and any(item.wanted.get(key) for key in over)
        ]
        if rivals:
            yield _over(situation, {name: asked[name] for name in over}, own, rivals)
            return


def _over(situation: Situation, asked: Amounts, own: Share, rivals: Sequence[str]) -> Finding:
    numbers = "; ".join(
        f"{name}: holds {readable(name, own.held.get(name, _ZERO))}, share "
        f"{readable(name, own.deserved.get(name, _ZERO))}, a pod asks for {readable(name, amount)}"
        for name, amount in asked.items()
    )
    return finding(
        "OverShare",
        f"queue {situation.queue} has its share of what queues divide by weight: {numbers}. Queues {', '.join(rivals)} "
        "want of it, too.",
        needed="a share with room for the pods: weight against weight of all queues that want the same.",
        todo="raise the weight of the queue, use another queue, or wait until others end or want less.",
        objects=[Ref(*QUEUE, "", situation.queue)],
        commands=["kubectl get queues.scheduling.volcano.sh -o custom-columns=NAME:.metadata.name,W:.spec.weight"],
    )


def guarantees(situation: Situation) -> Iterator[Finding]:
    """What other queues are guaranteed is kept from this one, used or not (realCapability of both plugins)."""
    if situation.group is None or len(situation.placed) >= situation.minimum:
        return
    facts, own = situation.facts, situation.queue
    queues = {item["metadata"]["name"]: item for item in facts.all("queues.scheduling.volcano.sh")}
    others = {
        name: _share(item).guarantee for name, item in queues.items() if name not in and_above(own, queues, facts)
    }
    kept, everything = total(others.values()), _everything(facts)
    held = found.held if (found := _queues(facts).get(own)) else {}
    after = total((held, gang_requests(situation)))
    over = [
        name for name in kept if everything.get(name, _ZERO) >= after.get(name, _ZERO) > _left(name, everything, kept)
    ]
    if over:
        numbers = "; ".join(
            f"{name}: {readable(name, after[name])} with the gang, {readable(name, _left(name, everything, kept))} of "
            f"{readable(name, everything[name])} are not guaranteed to others"
            for name in over
        )
        holders = [name for name, amount in others.items() if any(amount.get(key) for key in over)]
        yield finding(
            "GuaranteedToOthers",
            f"queue {own} may not have what queue {', '.join(holders)} is guaranteed, used or not: {numbers}.",
            needed="room for the gang beside the guarantees of other queues.",
            todo="lower spec.guarantee of those queues, use one of them, or ask for less.",
            objects=[Ref(*QUEUE, "", name) for name in holders],
        )


def _left(name: str, everything: Amounts, kept: Amounts) -> Decimal:
    return everything.get(name, _ZERO) - kept[name]


def divide(queues: Mapping[str, Share], everything: Amounts) -> None:
    """Set what each queue deserves: by weight, no more than it wants or may have, the rest to the others again."""
    left = dict(everything)
    for item in queues.values():
        item.deserved = dict.fromkeys(everything, _ZERO)
    open_ = dict(queues)
    for _ in range(_ROUNDS):
        weight = sum(item.weight for item in open_.values())
        if not weight:
            return
        given = dict.fromkeys(everything, _ZERO)
        for name, item in list(open_.items()):
            before = dict(item.deserved)
            for key in everything:
                more = before[key] + left[key] * item.weight / weight
                most = min(more, item.ceiling.get(key, more), item.wanted.get(key, _ZERO))
                item.deserved[key] = max(most, item.guarantee.get(key, _ZERO))
                given[key] += item.deserved[key] - before[key]
            enough = all(item.wanted.get(key, _ZERO) <= item.deserved[key] for key in everything)
            if enough or item.deserved == before:
                del open_[name]
        left = {key: left[key] - given[key] for key in everything}
        if not any(left.values()) or not any(given.values()):
            return


def _queues(facts: Facts) -> dict[str, Share]:
    """Queues with PodGroups, what their pods on nodes hold, and what all their pods want."""
    by_name: dict[str, Share] = {}
    known = {item["metadata"]["name"]: item for item in facts.all("queues.scheduling.volcano.sh")}
    of_group: dict[tuple[str, str], str] = {}
    for group in facts.all("podgroups.scheduling.volcano.sh"):
        name = group["spec"].get("queue") or "default"
        if name in known:
            of_group[group["metadata"]["namespace"], group["metadata"]["name"]] = name
            by_name.setdefault(name, _share(known[name]))
    for pod in facts.all("pods"):
        group_name = (pod["metadata"].get("annotations") or {}).get(GROUP_NAME, "")
        queue = of_group.get((pod["metadata"]["namespace"], group_name))
        if queue and pod.get("status", {}).get("phase") not in _ENDED:
            item, asked = by_name[queue], pod_requests(pod["spec"])
            item.wanted = total((item.wanted, asked))
            if pod["spec"].get("nodeName"):
                item.held = total((item.held, asked))
    return by_name


def _share(queue: Object) -> Share:
    spec = queue["spec"]
    ceiling = {
        name: most for name, most in amounts(spec.get("capability")).items() if most or name not in {"cpu", "memory"}
    }
    return Share(int(spec.get("weight") or 1), ceiling, amounts((spec.get("guarantee") or {}).get("resource")))


def _everything(facts: Facts) -> dict[str, Decimal]:
    ready = (item for item in facts.all("nodes") if conditions(item).get("Ready", {}).get("status") == "True")
    return total(amounts(item.get("status", {}).get("allocatable")) for item in ready)


def _by_weight(facts: Facts) -> bool:
    scheduler = facts.get("deployments.apps", SCHEDULER.namespace, SCHEDULER.name)
    if scheduler is None:
        return False
    found = scheduler_configuration.read(scheduler, facts)
    return not isinstance(found, scheduler_configuration.Unusable) and "proportion" in found.plugins
