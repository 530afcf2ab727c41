"""Family A, nodes: are they healthy, is there room on them, and what are they."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.progress import counted
from validators.facts import Facts
from validators.model import Outcome, Rule, Severity, check, errored, failed, passed, skipped, warned
from validators.pods import waits_for_gang, workload_of

__all__ = ["CHECKS"]

_READS = (Rule("list", "", "nodes"), Rule("list", "", "pods"))

# What the gang smoke test asks for at most (checks.md, 4.4): less than this free, and it cannot tell anything.
_PROBES: Amounts = {"cpu": Decimal("0.2"), "memory": Decimal(400 * 2**20)}
_TOLD = 3
_KEEP_AWAY = frozenset({"NoSchedule", "NoExecute"})


@check("A4", "nodes", severity=Severity.BLOCKER, needs=_READS)
def nodes(facts: Facts) -> Outcome:
    """Every node is healthy, one at least takes pods, and there is room for what the profile still has to place.

    Ready, no pressure on memory, disk or processes, network available. The nodes that are not cordoned must have left
    what the probes ask for and what those pods of the profile ask for that have no node yet. `kubectl describe node`
    names a condition and its cause; `kubectl uncordon` lets a node take pods again.
    """
    every = facts.all("nodes")
    if not every:
        return failed("NoNodes", "the cluster has no node.", expected="at least one node", todo="join a node.")
    taking = [item for item in every if not item["spec"].get("unschedulable")]
    found = _sick(every) or _none_takes_pods(every, taking) or _short_of_room(taking, facts) or _some_away(every)
    if found:
        return found
    simulated = len(facts.simulated_nodes)
    told = f", {simulated} of them simulated" if simulated else ""
    return passed(f"{len(every)} nodes are Ready and take pods{told}.", objects=[Ref.of(item) for item in every])


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
        todo="repair what the node's condition names.",
        commands=tuple(f"kubectl describe node {ref.name}" for ref in sick),
    )


def _none_takes_pods(every: Sequence[Object], taking: Sequence[Object]) -> Outcome | None:
    if taking:
        return None
    names = [item["metadata"]["name"] for item in every]
    return failed(
        "AllCordoned",
        f"all {len(every)} nodes are cordoned: {', '.join(names)}.",
        expected="at least one node that takes pods",
        objects=[Ref.of(item) for item in every],
        todo="uncordon a node.",
        commands=tuple(f"kubectl uncordon {name}" for name in names),
    )


def _some_away(every: Sequence[Object]) -> Outcome | None:
    """Cordoned nodes, or none that takes a pod without tolerations."""
    cordoned = [item for item in every if item["spec"].get("unschedulable")]
    if cordoned:
        names = [item["metadata"]["name"] for item in cordoned]
        return warned(
            "Cordoned",
            f"{len(cordoned)} of {len(every)} nodes are cordoned: {', '.join(names)}.",
            expected="no cordoned node",
            objects=[Ref.of(item) for item in cordoned],
            todo="uncordon them when their maintenance is over.",
            commands=tuple(f"kubectl uncordon {name}" for name in names),
        )
    if all(_taints(item) for item in every):
        return warned(
            "AllTainted",
            f"all {len(every)} nodes have taints that keep pods away: {', '.join(sorted(_keys(every)))}.",
            expected="a node without such a taint, as upstream's manifests carry no tolerations",
            objects=[Ref.of(item) for item in every],
            todo="untaint a node, or give the workloads tolerations.",
            commands=tuple(f"kubectl taint nodes --all {key}-" for key in sorted(_keys(every))),
        )
    return None


def _taints(node: Object) -> list[Object]:
    return [item for item in node["spec"].get("taints") or () if item.get("effect") in _KEEP_AWAY]


def _keys(every: Iterable[Object]) -> set[str]:
    return {taint["key"] for item in every for taint in _taints(item)}


def _short_of_room(taking: Sequence[Object], facts: Facts) -> Outcome | None:
    """Whether the nodes have less left than is still to be placed; a node's taints may make it less than that."""
    try:
        waiting = [pod for pod in facts.all("pods") if _is_to_be_placed(pod, facts)]
        wanted = total((_PROBES, *(pod_requests(pod["spec"]) for pod in waiting)))
        left = _left(taking, facts)
    except ValueError as error:
        return errored("BadQuantity", f"a quantity cannot be read: {error}.", todo="correct the object that states it.")
    short = {name: amount for name, amount in wanted.items() if left.get(name, Decimal(0)) < amount}
    if not short:
        return None
    of_pods = f" and {len(waiting)} pods that have no node yet" if waiting else ""
    has, needs = ({name: readable(name, found.get(name, Decimal(0))) for name in short} for found in (left, wanted))
    return failed(
        "NoRoom",
        f"the nodes that take pods have {_listed(has)} left; the probes{of_pods} ask for {_listed(needs)}.",
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
    here = [pod for pod in facts.all("pods") if pod["spec"].get("nodeName") in names and not _ended(pod)]
    used = total(pod_requests(pod["spec"]) for pod in here)
    room = total(amounts(item.get("status", {}).get("allocatable")) for item in taking)
    return {name: amount - used.get(name, Decimal(0)) for name, amount in room.items()}


def _listed(told: dict[str, str]) -> str:
    return " and ".join(f"{amount} {name}" for name, amount in told.items())


_MOST_BEHIND = 3
"""Minor versions that a kubelet may be older than the API server (kubernetes.io, "Version Skew Policy")."""
_INFO = ("osImage", "kernelVersion", "containerRuntimeVersion", "kubeletVersion")


@check("A5", "node-facts", severity=Severity.MINOR, needs=(Rule("list", "", "nodes"),))
def node_facts(facts: Facts) -> Outcome:
    """Every node tells its system, kernel, container runtime and kubelet, and its kubelet goes with the API server.

    A kubelet may not be newer than the API server, and three minor versions older at most. What a Node does not tell
    is read on the hosts: the mode of SELinux by P14, the driver of control groups by P11; the labels of directories of
    volumes by D8.
    """
    real = {
        item["metadata"]["name"]: item.get("status", {}).get("nodeInfo", {})
        for item in facts.all("nodes")
        if item["metadata"]["name"] not in facts.simulated_nodes
    }
    if not real:
        return skipped("Simulated", "every node is simulated, and has no machine to tell of.")
    untold = sorted(name for name, info in real.items() if not all(info.get(key) for key in _INFO))
    refs = {name: Ref("v1", "Node", "", name) for name in sorted(real)}
    if untold:
        return errored(
            "NotTold",
            f"{', '.join(untold)} does not tell what it runs.",
            expected=", ".join(_INFO),
            observed={name: dict(real[name]) for name in untold},
            objects=[refs[name] for name in untold],
            todo="see that the node's kubelet runs and may write the Node's status.",
            because=("A4",),
        )
    skewed = {name: text for name, info in real.items() if (text := _skew(info["kubeletVersion"], facts))}
    if skewed:
        return warned(
            "KubeletSkew",
            f"{'; '.join(f'{name} has {text}' for name, text in sorted(skewed.items()))}.",
            expected=f"a kubelet of {facts.server_version} or up to {_MOST_BEHIND} minor versions older",
            observed=skewed,
            objects=[refs[name] for name in sorted(skewed)],
            todo="upgrade the API server first, then the kubelets, a minor version at a time.",
        )
    kinds = Counter(", ".join(info[key] for key in _INFO) for info in real.values())
    told = "; ".join(f"{number} with {kind}" for kind, number in kinds.most_common(_TOLD))
    more = f"; {len(kinds) - _TOLD} more kinds of nodes" if len(kinds) > _TOLD else ""
    return passed(f"{counted(len(real), 'node')}: {told}{more}.", objects=tuple(refs.values()), observed=dict(kinds))


def _skew(kubelet: str, facts: Facts) -> str:
    """What is wrong with the kubelet's version; empty where it goes with the API server."""
    try:
        behind = version_key(facts.server_version)[1] - version_key(kubelet)[1]
    except (ValueError, IndexError):
        return f"kubelet {kubelet}, which is no version"
    if 0 <= behind <= _MOST_BEHIND:
        return ""
    way = "newer" if behind < 0 else f"more than {_MOST_BEHIND} minor versions older"
    return f"kubelet {kubelet}, {way} than the API server, {facts.server_version}"


CHECKS = (nodes, node_facts)
