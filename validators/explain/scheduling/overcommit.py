"""Room that Volcano's plugin overcommit keeps for PodGroups that it admitted earlier.

Rule: JobEnqueueable of pkg/scheduler/plugins/overcommit, Volcano v1.8.0 to v1.10.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.pods.quantities import readable, total
from validators.core.facts import Facts
from validators.explain.model import VOLCANO, Finding, Situation, finding
from validators.explain.placement.nodes import nodes_with_pods
from validators.explain.placement.pod_sets import how_many_fit, pod_sets
from validators.explain.scheduling.volcano import PODGROUPS, gang_requests, min_resources, plugins

__all__ = ["overcommit"]

_DEFAULT_FACTOR = Decimal("1.2")
_ZERO = Decimal(0)


def overcommit(situation: Situation) -> Iterator[Finding]:
    """The nodes have room, but admitted PodGroups have claimed what overcommit allows in all."""
    if situation.group is None or situation.phase not in {"", "Pending"} or situation.unscheduled <= 0:
        return
    if any(pod["spec"].get("schedulerName") != VOLCANO for pod in situation.unplaced):
        return
    nodes = nodes_with_pods(situation.facts)
    requests, factor, needed = gang_requests(situation), _factor(situation.facts), situation.unscheduled
    if factor is None or not requests or how_many_fit(pod_sets(situation), nodes, needed) < needed:
        return
    idle = {
        name: sum((node.allocatable.get(name, _ZERO) * factor - node.used.get(name, _ZERO) for node in nodes), _ZERO)
        for name in requests
    }
    own = Ref.of(situation.group)
    others = {
        ref: min_resources(group)
        for group in situation.facts.all(PODGROUPS)
        if group.get("status", {}).get("phase") == "Inqueue" and (ref := Ref.of(group)) != own
    }
    promised = total(others.values())
    over = [
        name for name, amount in requests.items() if promised.get(name, _ZERO) and promised[name] + amount > idle[name]
    ]
    if over:
        numbers = "; ".join(
            f"{name}: the gang requests {readable(name, requests[name])}, {readable(name, promised[name])} of "
            f"{readable(name, idle[name])} are promised to others"
            for name in over
        )
        yield finding(
            "ReservedByOthers",
            f"the nodes have room, but Volcano reserves it for PodGroups that it admitted earlier: {numbers}.",
            needed="room for this gang beside the PodGroups in phase Inqueue.",
            todo="find out why those PodGroups do not start, and delete jobs that are no longer needed.",
            objects=list(others),
            details=[
                f"PodGroup {ref.namespace}/{ref.name}: "
                + ", ".join(f"{readable(name, amount[name])} {name}" for name in over if amount.get(name))
                for ref, amount in others.items()
                if any(amount.get(name) for name in over)
            ],
        )


def _factor(facts: Facts) -> Decimal | None:
    """How much of the allocatable resources may be admitted; None where plugin overcommit is off or unknown."""
    plugin = plugins(facts).get("overcommit")
    if plugin is None:
        return None
    given = (plugin.get("arguments") or {}).get("overcommit-factor", _DEFAULT_FACTOR)
    try:
        factor = Decimal(str(given))
    except InvalidOperation:
        return _DEFAULT_FACTOR
    return factor if factor >= 1 else _DEFAULT_FACTOR
