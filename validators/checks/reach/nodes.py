"""Family A, nodes: their health, and the room on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.experiment.pods import RESOURCES
from kubeflow_volcano.text import counted, few
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, errored, failed, passed, warned
from validators.core.resources import NODES, PODS
from validators.subjects.ownership import workload_of
from validators.subjects.pods import waits_for_gang

__all__ = ["CHECKS"]

_READS = (NODES, PODS)

_MOST_PODS = 4
"""Pods that the gang experiment has at one time (H6); with room for fewer it proves nothing."""
_PROBES = {name: _MOST_PODS * amount for name, amount in amounts(RESOURCES["requests"]).items()}
_KEEP_AWAY = frozenset({"NoSchedule", "NoExecute"})


@check("A4", "nodes", severity=Severity.BLOCKER, reads=_READS)
def nodes(facts: Facts) -> Outcome:
    """Every node is Ready, and the schedulable nodes have room for pending pods.

    A node must be Ready without pressure on memory, disk or processes, and have its network. The nodes that are not
    cordoned must have room for the probes and for the unscheduled pods of the profile. `kubectl describe node` shows a
    condition and its cause; `kubectl uncordon` makes a node schedulable again.
    """
    every = facts.all(NODES)
    if not every:
        return failed("NoNodes", "the cluster has no node.", expected="at least one node", todo="join a node.")
    taking = [item for item in every if not item["spec"].get("unschedulable")]
    found = _sick(every) or _none_takes_pods(every, taking) or _short_of_room(taking, facts) or _some_away(every)
    if found:
        return found
    simulated = len(facts.simulated_nodes)
    note = f", {simulated} of them simulated" if simulated else ""
    return passed(
        f"{counted(len(every), 'node')} {'is' if len(every) == 1 else 'are'} Ready and schedulable{note}.",
        objects=[Ref.of(item) for item in every],
    )


def _sick(every: Sequence[Object]) -> Outcome | None:
    states = {Ref.of(item): assess(item) for item in every}
    sick = {ref: state for ref, state in states.items() if state.state is not State.READY}
    if not sick:
        return None
    return failed(
        next(iter(sick.values())).reason,
        " ".join(state.message for state in sick.values()),
        expected="every node Ready without pressure",
        observed={ref.name: state.reason for ref, state in sick.items()},
        objects=tuple(sick),
        todo="repair what the condition of the node names.",
        commands=tuple(f"kubectl describe node {ref.name}" for ref in sick),
    )


def _none_takes_pods(every: Sequence[Object], taking: Sequence[Object]) -> Outcome | None:
    if taking:
        return None
    names = [item["metadata"]["name"] for item in every]
    return failed(
        "AllCordoned",
        f"all nodes are cordoned: {few(names)}.",
        expected="at least one schedulable node",
        objects=[Ref.of(item) for item in every],
        todo="uncordon a node.",
        commands=tuple(f"kubectl uncordon {name}" for name in names),
    )


def _some_away(every: Sequence[Object]) -> Outcome | None:
    """Cordoned nodes, or no node for pods without tolerations."""
    cordoned = [item for item in every if item["spec"].get("unschedulable")]
    if cordoned:
        names = [item["metadata"]["name"] for item in cordoned]
        return warned(
            "Cordoned",
            f"{len(cordoned)} of {counted(len(every), 'node')} cordoned: {few(names)}.",
            expected="no cordoned node",
            objects=[Ref.of(item) for item in cordoned],
            todo="uncordon them after their maintenance.",
            commands=tuple(f"kubectl uncordon {name}" for name in names),
        )
    if all(_taints(item) for item in every):
        return warned(
            "AllTainted",
            f"all nodes have taints that upstream's pods do not tolerate: {', '.join(sorted(_keys(every)))}.",
            expected="a node without such a taint, because upstream's manifests have no tolerations",
            objects=[Ref.of(item) for item in every],
            todo="remove the taint from a node, or add tolerations to the workloads.",
            commands=tuple(f"kubectl taint nodes --all {key}-" for key in sorted(_keys(every))),
        )
    return None


def _taints(node: Object) -> list[Object]:
    return [item for item in node["spec"].get("taints") or () if item.get("effect") in _KEEP_AWAY]


def _keys(every: Iterable[Object]) -> set[str]:
    return {taint["key"] for item in every for taint in _taints(item)}


def _short_of_room(taking: Sequence[Object], facts: Facts) -> Outcome | None:
    """Whether the schedulable nodes have less room than pending pods request; taints may reduce it further."""
    try:
        waiting = [pod for pod in facts.all(PODS) if _is_to_be_placed(pod, facts)]
        wanted = total((_PROBES, *(pod_requests(pod["spec"]) for pod in waiting)))
        left = _left(taking, facts)
    except ValueError as error:
        return errored("BadQuantity", f"invalid quantity: {error}.", todo="correct the object that contains it.")
    short = {name: amount for name, amount in wanted.items() if amount and left.get(name, Decimal(0)) < amount}
    if not short:
        return None
    of_pods = f" and {counted(len(waiting), 'pending pod')}" if waiting else ""
    has, needs = ({name: readable(name, found.get(name, Decimal(0))) for name in short} for found in (left, wanted))
    return failed(
        "NoRoom",
        f"the schedulable nodes have {_listed(has)} left; the probes{of_pods} request {_listed(needs)}.",
        expected=f"at least {_listed(needs)}",
        observed={"left": has, "wanted": needs},
        objects=[Ref.of(item) for item in taking],
        todo="remove pods or add a node.",
    )


def _is_to_be_placed(pod: Object, facts: Facts) -> bool:
    return (
        not pod["spec"].get("nodeName")
        and not _ended(pod)
        and not waits_for_gang(pod)
        and workload_of(pod) in facts.expectations.workloads
    )


def _ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def _left(taking: Sequence[Object], facts: Facts) -> Amounts:
    names = {item["metadata"]["name"] for item in taking}
    here = [pod for pod in facts.all(PODS) if pod["spec"].get("nodeName") in names and not _ended(pod)]
    used = total(pod_requests(pod["spec"]) for pod in here)
    room = total(amounts(item.get("status", {}).get("allocatable")) for item in taking)
    return {name: amount - used.get(name, Decimal(0)) for name, amount in room.items()}


def _listed(amounts_by_name: dict[str, str]) -> str:
    return " and ".join(f"{amount} {name}" for name, amount in amounts_by_name.items())


CHECKS = (nodes,)
