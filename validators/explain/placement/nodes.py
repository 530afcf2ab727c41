"""Nodes with the pods on them, what pods require of a node, and why a node refuses one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, has_ended
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, total
from kubeflow_volcano.cluster.volcano import knows
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import node_labels


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node refuses a pod. `reason` groups nodes, `text` has the numbers, `lacks` is the missing resource."""

    reason: str
    text: str
    lacks: str = ""


@dataclass(slots=True)
class Node:
    """One node and the pods on it; `add` places another one."""

    obj: Object
    allocatable: Amounts
    used: dict[str, Decimal]
    pods: list[Object] = field(default_factory=list)
    counted: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    """By identity of a topologySpreadConstraint: the number of pods here when it was counted, and the count."""
    mounted: set[tuple[str, str]] = field(default_factory=set)
    """Namespace and name of the claims that pods on it mount."""

    @property
    def name(self) -> str:
        """Its name."""
        name: str = self.obj["metadata"]["name"]
        return name

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.obj["metadata"].get("labels") or {}

    def free(self, resource: str) -> Decimal:
        """What is not requested yet; negative where pods request more than is allocatable."""
        return self.allocatable.get(resource, Decimal(0)) - self.used.get(resource, Decimal(0))

    def copy(self) -> Node:
        """The same node, for pods that are placed on it on trial."""
        return Node(self.obj, self.allocatable, dict(self.used), list(self.pods), mounted=set(self.mounted))

    def add(self, wish: Wish) -> None:
        """Place one such pod on the node."""
        self.used = total((self.used, wish.requests))
        self.pods.append(wish.pod)
        self.mounted |= _mounted(wish.pod)


@dataclass(frozen=True, slots=True)
class Wish:
    """What identical pods require of a node.

    `volumes` are claims with the node selector terms of their volumes, `unbound` those that the first pod binds to its
    node, where all other pods that mount them have to go. `devices` are ResourceClaims with the terms of their devices.
    For the reasons in `ignored` its scheduler keeps it off no node; of the labels in `served` a node must have one, or
    the scheduler does not know it.
    """

    pod: Object
    requests: Amounts
    volumes: tuple[tuple[str, Sequence[Object]], ...] = ()
    unbound: tuple[str, ...] = ()
    devices: tuple[tuple[str, Sequence[Object]], ...] = ()
    ignored: frozenset[str] = frozenset()
    served: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, pod: Object, volumes: tuple[tuple[str, Sequence[Object]], ...] = (), unbound: tuple[str, ...] = ()
    ) -> Wish:
        """Requirements of a pod, or of a pod template with a namespace in its metadata."""
        return cls(pod, {**pod_requests(pod["spec"]), "pods": Decimal(1)}, volumes, unbound)


def nodes_of(nodes: Iterable[Object], pods: Iterable[Object]) -> tuple[Node, ...]:
    """Every node with the requests of the pods on it, in order of name."""
    on: dict[str, list[Object]] = {}
    for pod in pods:
        if not has_ended(pod) and pod["spec"].get("nodeName"):
            on.setdefault(pod["spec"]["nodeName"], []).append(pod)
    ordered = sorted(nodes, key=lambda item: str(item["metadata"]["name"]))
    return tuple(_node(item, on.get(item["metadata"]["name"], [])) for item in ordered)


def nodes_with_pods(facts: Facts) -> tuple[Node, ...]:
    """The nodes of the cluster, as `nodes_of` returns them."""
    return nodes_of(facts.all("nodes"), facts.all("pods"))


def nodes_of_volcano(facts: Facts) -> tuple[Node, ...]:
    """Those of them that Volcano's scheduler knows, which its --node-selector may leave out."""
    labels = node_labels(facts)
    return tuple(node for node in nodes_with_pods(facts) if knows(labels, node.obj))


def _node(obj: Object, pods: list[Object]) -> Node:
    status = obj.get("status", {})
    used = total([*(pod_requests(pod["spec"]) for pod in pods), {"pods": Decimal(len(pods))}])
    mounted = set().union(*map(_mounted, pods))
    return Node(obj, amounts(status.get("allocatable") or status.get("capacity")), used, pods, mounted=mounted)


def _mounted(pod: Object) -> set[tuple[str, str]]:
    claims = (item.get("persistentVolumeClaim") for item in pod["spec"].get("volumes") or ())
    return {(pod["metadata"].get("namespace", ""), item["claimName"]) for item in claims if item}
