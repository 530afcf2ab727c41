"""Room that Volcano's plugin overcommit keeps for PodGroups that it admitted earlier.

Rule: JobEnqueueableFn of pkg/scheduler/plugins/overcommit, Volcano v1.8.0 to v1.15.1: minResources alone count, and a
PodGroup without any is admitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.pods.quantities import Amounts, readable, total
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.nodes import Node, nodes_of_volcano
from kubeflow_volcano.validators.explain.placement.pod_sets import how_many_fit, pod_sets
from kubeflow_volcano.validators.explain.scheduling.volcano import (
    PODGROUPS,
    enqueues,
    min_resources,
    plugins,
    pods_requests,
)

_DEFAULT_FACTOR = Decimal("1.2")
_ZERO = Decimal(0)


def overcommit(situation: Situation) -> Iterator[Finding]:
    """Room that the gang's minResources wait for: more than the cluster has, or promised to PodGroups before it."""
    if situation.group is None or situation.phase not in {"", "Pending"} or situation.unscheduled <= 0:
        return
    if any(pod["spec"].get("schedulerName") != VOLCANO for pod in situation.unplaced):
        return
    nodes, needed = nodes_of_volcano(situation.facts), situation.unscheduled
    requests, factor = min_resources(situation.group), _factor(situation.facts)
    if factor is None or not requests:
        return
    whole, used = _room(requests, nodes)
    whole = {name: amount * factor for name, amount in whole.items()}
    idle = {name: amount - used[name] for name, amount in whole.items()}
    if found := _by_hand(situation, whole, idle):
        yield found
        return
    others = _admitted_before(situation)
    promised = total(others.values())
    over = [
        name
        for name, amount in requests.items()
        if promised.get(name, _ZERO) and amount <= whole[name] and promised[name] + amount > idle[name]
    ]
    if over:
        fits = how_many_fit(pod_sets(situation), nodes, needed) >= needed
        numbers = "; ".join(
            f"{name}: the gang requests {readable(name, requests[name])}, {readable(name, promised[name])} of "
            f"{readable(name, idle[name])} are promised to others"
            for name in over
        )
        yield finding(
            "ReservedByOthers",
            f"{'the nodes have room, but' if fits else 'besides,'} Volcano reserves room for PodGroups that it "
            f"admitted earlier: {numbers}.",
            needed="room for this gang beside the PodGroups in phase Inqueue.",
            todo="find out why those PodGroups do not start, and delete jobs that are no longer needed.",
            objects=list(others),
            details=[
                f"PodGroup {ref.namespace}/{ref.name}: "
                + ", ".join(f"{readable(name, amount[name])} {name}" for name in over if amount.get(name))
                for ref, amount in others.items()
                if any(amount.get(name) for name in over)
            ],
            blocks=fits,
        )


def needed_factor(situation: Situation) -> Decimal | None:
    """The overcommit-factor with which the PodGroup is admitted beside all pods; None where it is admitted anyhow."""
    asked, factor = min_resources(situation.group), _factor(situation.facts)
    if factor is None:
        return None
    whole, used = _room(asked, nodes_of_volcano(situation.facts))
    promised = total(_admitted_before(situation).values())
    after = {name: used[name] + promised.get(name, _ZERO) + amount for name, amount in asked.items()}
    needed = max((after[name] / whole[name] for name in asked if whole[name] and asked[name]), default=_ZERO)
    return needed if needed > factor else None


def _room(names: Iterable[str], nodes: Sequence[Node]) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    """What all nodes have of each of these resources, and what pods on them request of it."""
    whole = {name: sum((node.allocatable.get(name, _ZERO) for node in nodes), _ZERO) for name in names}
    return whole, {name: sum((node.used.get(name, _ZERO) for node in nodes), _ZERO) for name in whole}


def _admitted_before(situation: Situation) -> dict[Ref, dict[str, Decimal]]:
    """What Volcano keeps for PodGroups that it admitted, and whose pods have no nodes yet."""
    own = situation.group_ref
    return {
        ref: min_resources(group)
        for group in situation.facts.all(PODGROUPS)
        if group.get("status", {}).get("phase") == "Inqueue" and (ref := Ref.of(group)) != own
    }


def _by_hand(situation: Situation, whole: Amounts, idle: Amounts) -> Finding | None:
    """The PodGroup's minResources are more than its pods request, and more than Volcano may admit.

    Args:
        situation: the job.
        whole: what may be admitted in all, by resource.
        idle: what of it no pod requests.
    """
    asked = min_resources(situation.group)
    of_pods = pods_requests(situation)
    more = {name: amount for name, amount in asked.items() if amount > max(of_pods.get(name, _ZERO), idle[name])}
    if not more:
        return None
    never = [name for name in more if more[name] > whole[name]]
    limits = whole if never else idle
    numbers = ", ".join(
        f"{readable(name, more[name])} {name} of {readable(name, limits[name])} (its pods request "
        f"{readable(name, of_pods.get(name, _ZERO))})"
        for name in never or more
    )
    return finding(
        "MinResourcesTooHigh" if never else "MinResourcesNotFree",
        f"minResources of {situation.group_ref} are {numbers} that Volcano may admit{' in all' if never else ' now'}: "
        f"{'it never admits the gang' if never else 'the gang waits until others end'}.",
        needed="minResources that the cluster has: those of the pods that start together.",
        todo="recreate the job with lower minResources, or without them: then they are the sum of its pods' requests"
        f"{'' if never else '; or wait until other pods end'}.",
        objects=[situation.group_ref] if situation.group_ref else (),
    )


def _factor(facts: Facts) -> Decimal | None:
    """How much of what is allocatable may be admitted; None where plugin overcommit or action enqueue is off."""
    plugin = plugins(facts).get("overcommit")
    if plugin is None or not enqueues(facts):
        return None
    given = (plugin.get("arguments") or {}).get("overcommit-factor", _DEFAULT_FACTOR)
    try:
        factor = Decimal(str(given))
    except InvalidOperation:
        return _DEFAULT_FACTOR
    return factor if factor >= 1 else _DEFAULT_FACTOR
