"""A queue's share that pods of other queues hold, where Volcano's scheduler does not take it back.

Rules: pkg/scheduler/actions/reclaim of Volcano, v1.8.0 to v1.15.1; what a queue deserves is its share by weight in
plugin proportion, and its spec.deserved in plugin capacity, which reads no weight (PreemptiveFn there: each resource
that a pod requests, from 1.15 on one of them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.nodes import nodes_of_volcano
from kubeflow_volcano.validators.explain.placement.pod_sets import PodSet, pod_sets
from kubeflow_volcano.validators.explain.scheduling.eviction import (
    command,
    group_key,
    group_of,
    kept_by,
    lacks,
    victims,
)
from kubeflow_volcano.validators.explain.scheduling.shares import Share, allocatable, divide, share_of, share_of_each
from kubeflow_volcano.validators.explain.scheduling.volcano import (
    PODGROUPS,
    QUEUES,
    plugins,
    queue_of,
    queue_ref,
    queues_by_name,
)
from kubeflow_volcano.validators.subjects.kubectl import patch

_ZERO = Decimal(0)


def reclaim(situation: Situation) -> Iterator[Finding]:
    """The gang fits into what its queue deserves, which other queues hold, and something keeps Volcano from reclaim."""
    facts, needed, sets = situation.facts, situation.unscheduled, pod_sets(situation)
    on = plugins(facts).keys() & {"proportion", "capacity"}
    known = queues_by_name(facts)
    if situation.group is None or needed <= 0 or len(on) != 1 or not sets or situation.queue not in known:
        return
    asked = _amounts(sets, needed)
    queues = share_of_each(facts)
    own = queues.setdefault(situation.queue, share_of(known[situation.queue]))
    if not situation.unplaced:  # its pods are created once the PodGroup is admitted
        own.wanted = total((own.wanted, _amounts(sets, sum(item.count for item in sets))))
    divide(queues, allocatable(facts))
    by_capacity = "capacity" in on
    deserves = {name: _deserved(name, item, known, by_capacity=by_capacity) for name, item in queues.items()}
    scarce = _scarce(asked, situation)
    mine = deserves[situation.queue]
    if not scarce or any(own.held.get(name, _ZERO) + asked[name] > mine.get(name, _ZERO) for name in asked):
        return
    rich = {
        name: over
        for name, item in queues.items()
        if name != situation.queue and known[name]["spec"].get("reclaimable") is not False
        if (over := [key for key in scarce if item.held.get(key, _ZERO) > deserves[name].get(key, _ZERO)])
    }
    names = {group_key(item): queue_of(item) for item in facts.all(PODGROUPS)}
    gone = victims(sets, _pods_of(rich, names, facts.all("pods")), facts, needed)
    if not gone:
        return
    settings = lacks("reclaim", situation, gone)
    steps, changes = [item.todo for item in settings], []
    if settings and (change := command(situation, settings)):
        changes.append(change)
    unset = [name for name in asked if name not in _given(known[situation.queue])] if by_capacity else []
    if unset:
        steps.append(
            f"set spec.deserved of queue {situation.queue}, also for {', '.join(unset)}: plugin capacity takes back "
            "what a queue deserves, and reads no weight"
        )
        changes.append(_deserve(situation.queue, known[situation.queue], {name: mine[name] for name in asked}))
    if not steps:
        return
    losing = {names[group_of(pod)] for pod in gone}
    holders = {name: queues[name] for name in rich if name in losing}
    numbers = "; ".join(_held(name, queues[name], deserves[name], scarce) for name in (situation.queue, *holders))
    yield finding(
        "ShareHeldByOthers",
        f"the gang fits into the share of its queue, which others hold: {numbers}. "
        "Volcano takes nothing back as it is configured.",
        needed="all settings of reclaim, for queues that take back what they deserve.",
        todo=f"{'; '.join(steps)}. {kept_by('reclaim', situation, settings)}"
        "Or wait until pods of the other queues end.",
        objects=[queue_ref(name) for name in (situation.queue, *holders)],
        commands=[f"kubectl get {QUEUES} -o wide"],
        changes=changes,
        blocks=False,
    )


def _amounts(sets: Sequence[PodSet], number: int) -> dict[str, Decimal]:
    """What so many of the pods request, each as much as they do on average; pods themselves are not counted."""
    count = max(sum(item.count for item in sets), 1)
    whole = total({name: amount * item.count for name, amount in item.wish.requests.items()} for item in sets)
    return {name: amount * number / count for name, amount in whole.items() if amount > 0 and name != "pods"}


def _given(queue: Object) -> dict[str, Decimal]:
    return amounts(queue["spec"].get("deserved"))


def _deserved(name: str, item: Share, known: Mapping[str, Object], *, by_capacity: bool) -> Amounts:
    """What the queue deserves; by weight also where spec.deserved has nothing for plugin capacity."""
    return {**item.deserved, **_given(known[name])} if by_capacity else item.deserved


def _scarce(asked: Amounts, situation: Situation) -> list[str]:
    """Resources of which the nodes have too little free."""
    nodes = nodes_of_volcano(situation.facts)
    return [name for name in asked if asked[name] > sum((max(node.free(name), _ZERO) for node in nodes), _ZERO)]


def _pods_of(
    rich: Mapping[str, Sequence[str]], names: Mapping[tuple[str, str], str], pods: Sequence[Object]
) -> Iterator[Object]:
    """Pods of these queues that hold what their queue has too much of; `names` are queues by PodGroup."""
    for pod in pods:
        over = rich.get(names.get(group_of(pod), ""), ())
        if any(pod_requests(pod["spec"]).get(key) for key in over):
            yield pod


def _held(name: str, item: Share, deserves: Amounts, scarce: Sequence[str]) -> str:
    numbers = ", ".join(
        f"{readable(key, item.held.get(key, _ZERO))} of {readable(key, deserves.get(key, _ZERO))} {key}"
        for key in scarce
    )
    return f"queue {name} holds {numbers}"


def _deserve(name: str, queue: Object, least: Amounts) -> str:
    """The command that sets what a queue deserves; what is set already stays."""
    ref = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", name)
    more = {key: _text(key, amount) for key, amount in least.items()}
    value = {**more, **(queue["spec"].get("deserved") or {})}
    return patch(QUEUES, ref, [{"op": "add", "path": "/spec/deserved", "value": value}])


def _text(name: str, amount: Decimal) -> str:
    """A quantity that is not less: in thousandths of a CPU, in whole units of all else."""
    if name == "cpu":
        return f"{(amount * 1000).to_integral_value(ROUND_CEILING):f}m"
    return f"{amount.to_integral_value(ROUND_CEILING):f}"
