"""Family A, nodes: their health, and the room on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref, conditions, has_ended
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.cluster.readiness import Readiness
from kubeflow_volcano.experiment.pods import RESOURCES
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.reach.open_nodes import accepting, none_open, sick_of
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, errored, failed, passed, warned
from kubeflow_volcano.validators.core.resources import NODES, PODS
from kubeflow_volcano.validators.subjects.outages import LOST
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.pods import waits_for_gang

_READS = (NODES, PODS)

_MOST_PODS = 4
"""Pods that the gang experiment has at one time (H6); with room for fewer it proves nothing."""
_PROBES = {name: _MOST_PODS * amount for name, amount in amounts(RESOURCES["requests"]).items()}
# What the scheduler says of nodes that Kubernetes has tainted for their condition.
_OF_SICK = re.compile(
    r"taint[^,]{0,200}?node\.kubernetes\.io/(not-ready|unreachable|[a-z]+-pressure|network-unavailable)"
)


@check("A4", "nodes", severity=Severity.BLOCKER, reads=_READS)
def nodes(facts: Facts) -> Outcome:
    """Nodes are Ready, accept ordinary pods, and have room for pending pods.

    A node must be Ready without pressure on memory, disk or processes, and have its network. One that is not is a
    warning, unless pods of the release need it: they are on it, or are Pending because of it. The others must have room
    for the probes and for the unscheduled pods of the release, and at least one of them must accept pods without
    tolerations: a taint on every node keeps users' pods away. `kubectl describe node` shows conditions and their
    causes; `kubectl uncordon` makes a node schedulable again.
    """
    every = facts.all(NODES)
    if not every:
        return failed("NoNodes", "the cluster has no node.", expected="at least one node", todo="join a node.")
    sick = sick_of(every)
    own = [pod for pod in facts.all(PODS) if _is_own(pod, facts)]
    shut = none_open(every, own, facts)
    blocked = shut if shut and shut.status is Status.FAIL else None
    outcome = (
        _needed(sick, every, own)
        or blocked
        or _short_of_room(accepting(every, own), sick, facts)
        or _not_needed(sick, every)
        or _cordoned(every)
        or shut
    )
    if outcome:
        return outcome
    simulated = len(facts.simulated_nodes)
    note = f", {simulated} of them simulated" if simulated else ""
    return passed(
        f"{counted(len(every), 'node')} {'is' if len(every) == 1 else 'are'} Ready and schedulable{note}.",
        objects=[Ref.of(item) for item in every],
    )


def _is_own(pod: Object, facts: Facts) -> bool:
    """Whether the pod is the release's and could run on another node, unlike those of a DaemonSet."""
    workload = workload_of(pod)
    judged = workload and workload.kind != "DaemonSet" and workload in facts.expectations.workloads
    return bool(judged) and not has_ended(pod)


def _needed(sick: Mapping[Ref, Readiness], every: Sequence[Object], own: Iterable[Object]) -> Outcome | None:
    """Sick nodes that pods of the release are on or wait for, or that are all nodes."""
    names = {ref.name for ref in sick}
    on = [str(Ref.of(pod)) for pod in own if pod["spec"].get("nodeName") in names and not _replaced(pod)]
    waiting = [str(Ref.of(pod)) for pod in own if sick and _waits_for_sick(pod)]
    if not (on or waiting or len(sick) == len(every)):
        return None
    users = [
        f" Pods of the release that {words}: {few(found, 3)}."
        for words, found in (("are there", on), ("cannot run elsewhere", waiting))
        if found
    ]
    return failed(
        next(iter(sick.values())).reason,
        " ".join(state.message for state in sick.values()) + "".join(users),
        todo="repair what the condition of the node names.",
        **_shown(sick),
    )


def _replaced(pod: Object) -> bool:
    """Whether its controller has another pod in its place: a StatefulSet waits until the pod is gone."""
    workload = workload_of(pod)
    return "deletionTimestamp" in pod["metadata"] and not (workload and workload.kind == "StatefulSet")


def _waits_for_sick(pod: Object) -> bool:
    """Whether the scheduler names a sick node, and no lack of room elsewhere, which is judged apart."""
    scheduled = conditions(pod).get("PodScheduled", {})
    text = scheduled.get("message", "")
    refused = not pod["spec"].get("nodeName") and scheduled.get("status") == "False"
    return bool(refused and _OF_SICK.search(text) and "Insufficient" not in text)


def _not_needed(sick: Mapping[Ref, Readiness], every: Sequence[Object]) -> Outcome | None:
    if not sick:
        return None
    rest = len(every) - len(sick)
    return warned(
        next(iter(sick.values())).reason,
        " ".join(state.message for state in sick.values())
        + f" No pod of the release needs {'it' if len(sick) == 1 else 'them'}, and the other"
        f" {counted(rest, 'node has', 'nodes have')} room.",
        todo="repair what the condition of the node names, or delete the Node if its machine is gone for good.",
        **_shown(sick),
    )


def _shown(sick: Mapping[Ref, Readiness]) -> dict[str, Any]:
    return {
        "expected": "every node Ready without pressure",
        "observed": {ref.name: state.reason for ref, state in sick.items()},
        "objects": tuple(sick),
        "breaks": LOST,
        "commands": tuple(f"kubectl describe node {ref.name}" for ref in sick),
    }


def _cordoned(every: Sequence[Object]) -> Outcome | None:
    names = [item["metadata"]["name"] for item in every if item["spec"].get("unschedulable")]
    if not names:
        return None
    return warned(
        "Cordoned",
        f"{len(names)} of {counted(len(every), 'node')} cordoned: {few(names)}.",
        expected="no cordoned node",
        objects=[Ref("v1", "Node", "", name) for name in names],
        todo="uncordon them after their maintenance.",
        changes=tuple(f"kubectl uncordon {name}" for name in names),
    )


def _short_of_room(taking: Sequence[Object], sick: Mapping[Ref, Readiness], facts: Facts) -> Outcome | None:
    """Whether the nodes that accept pods of the release have less room than pending pods request."""
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
        "".join(f"{state.message} " for state in sick.values())
        + f"the nodes that accept pods have {_listed(has)} left; the probes{of_pods} request {_listed(needs)}.",
        expected=f"at least {_listed(needs)}",
        observed={"left": has, "wanted": needs},
        objects=[*sick, *(Ref.of(item) for item in taking)],
        todo="repair the node, remove pods, or add a node." if sick else "remove pods or add a node.",
    )


def _is_to_be_placed(pod: Object, facts: Facts) -> bool:
    return (
        not pod["spec"].get("nodeName")
        and not has_ended(pod)
        and not waits_for_gang(pod)
        and workload_of(pod) in facts.expectations.workloads
    )


def _left(taking: Sequence[Object], facts: Facts) -> Amounts:
    names = {item["metadata"]["name"] for item in taking}
    here = [pod for pod in facts.all(PODS) if pod["spec"].get("nodeName") in names and not has_ended(pod)]
    used = total(pod_requests(pod["spec"]) for pod in here)
    room = total(amounts(item.get("status", {}).get("allocatable")) for item in taking)
    return {name: amount - used.get(name, Decimal(0)) for name, amount in room.items()}


def _listed(amounts_by_name: dict[str, str]) -> str:
    return " and ".join(f"{amount} {name}" for name, amount in amounts_by_name.items())
