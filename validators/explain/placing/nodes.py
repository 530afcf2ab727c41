"""Which nodes take a pod, and why the others do not: the rules of the scheduler's predicates, on a snapshot.

Rules: pkg/scheduler/framework/plugins of Kubernetes (nodeunschedulable, tainttoleration, nodeaffinity,
noderesources, nodeports, interpodaffinity, volumebinding), which Volcano's plugin predicates calls too. Volcano leaves
nodes out that are not Ready (pkg/scheduler/api/node_info.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from validators.explain.placing.selectors import labels_match, node_terms_match, said, untolerated

__all__ = ["Node", "Refusal", "Wish", "nodes_of", "refusals"]

_ENDED = frozenset({"Succeeded", "Failed"})
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node does not take a pod. `reason` groups nodes, `text` has the numbers; `lacks` names a resource."""

    reason: str
    text: str
    lacks: str = ""


@dataclass(slots=True)
class Node:
    """One node and the pods on it; packing adds to `used` and `pods`."""

    obj: Object
    allocatable: Amounts
    used: dict[str, Decimal]
    pods: list[Object] = field(default_factory=list)

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
        """What is not asked for yet; below 0 where more was promised than there is."""
        return self.allocatable.get(resource, Decimal(0)) - self.used.get(resource, Decimal(0))

    def add(self, wish: Wish) -> None:
        """Put a pod of that wish there."""
        self.used = total((self.used, wish.requests))
        self.pods.append(wish.pod)


@dataclass(frozen=True, slots=True)
class Wish:
    """What pods that are alike ask of a node. `volumes` are the node selector terms of their bound volumes."""

    pod: Object
    requests: Amounts
    volumes: tuple[tuple[str, Sequence[Object]], ...] = ()

    @classmethod
    def of(cls, pod: Object, volumes: tuple[tuple[str, Sequence[Object]], ...] = ()) -> Wish:
        """Of a pod or a pod template with a namespace in its metadata."""
        return cls(pod, {**pod_requests(pod["spec"]), "pods": Decimal(1)}, volumes)


def nodes_of(nodes: Iterable[Object], pods: Iterable[Object]) -> tuple[Node, ...]:
    """Every node with what the pods on it have asked for, in order of name."""
    on: dict[str, list[Object]] = {}
    for pod in pods:
        if pod.get("status", {}).get("phase") not in _ENDED and pod["spec"].get("nodeName"):
            on.setdefault(pod["spec"]["nodeName"], []).append(pod)
    ordered = sorted(nodes, key=lambda item: str(item["metadata"]["name"]))
    return tuple(_node(item, on.get(item["metadata"]["name"], [])) for item in ordered)


def _node(obj: Object, pods: list[Object]) -> Node:
    status = obj.get("status", {})
    used = total([*(pod_requests(pod["spec"]) for pod in pods), {"pods": Decimal(len(pods))}])
    return Node(obj, amounts(status.get("allocatable") or status.get("capacity")), used, pods)


def refusals(wish: Wish, node: Node, every: Sequence[Node]) -> tuple[Refusal, ...]:
    """All that keeps the pod off the node; nothing where it fits."""
    return (*_of_node(wish, node), *_of_resources(wish, node), *_of_neighbours(wish, node, every))


def _of_node(wish: Wish, node: Node) -> Iterator[Refusal]:
    pod, spec = wish.pod["spec"], node.obj.get("spec", {})
    if conditions(node.obj).get("Ready", {}).get("status") != "True":
        yield Refusal("NotReady", "is not Ready")
    if spec.get("unschedulable") and untolerated(pod, [_CORDON]):
        yield Refusal("Cordoned", "is cordoned")
    taints = [item for item in spec.get("taints") or () if item["key"] != _CORDON["key"]]
    if found := untolerated(pod, taints):
        yield Refusal("Taint", f"has the taint {', '.join(found)}")
    wanted: Mapping[str, str] = pod.get("nodeSelector") or {}
    if missing := [f"{key}={value}" for key, value in wanted.items() if node.labels.get(key) != value]:
        yield Refusal("Selector", f"lacks the label {', '.join(missing)}")
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not node_terms_match(required.get("nodeSelectorTerms"), node.obj):
        yield Refusal("Affinity", f"is not {said(required.get('nodeSelectorTerms'))}")
    for claim, terms in wish.volumes:
        if not node_terms_match(terms, node.obj):
            yield Refusal("Volume", f"cannot reach the volume of claim {claim}, which wants {said(terms)}")


def _of_resources(wish: Wish, node: Node) -> Iterator[Refusal]:
    for name, amount in wish.requests.items():
        if amount > 0 and amount > node.free(name):
            has, free = node.allocatable.get(name, Decimal(0)), max(node.free(name), Decimal(0))
            if not has:
                yield Refusal("Absent", f"has no {name}", name)
                continue
            text = f"{name}: asks for {readable(name, amount)}, {readable(name, free)} of {readable(name, has)} free"
            if readable(name, amount) == readable(name, free):
                text += f" (rounded; {amount - free:f} too little)"
            yield Refusal("Never" if amount > has else "Insufficient", text, name)


def _of_neighbours(wish: Wish, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    taken = {port for other in node.pods for port in _host_ports(other)}
    if clash := sorted(taken & set(_host_ports(wish.pod))):
        yield Refusal("HostPort", f"has host port {', '.join(str(port) for _, port in clash)} in use")
    for kind, wanted in (("podAffinity", True), ("podAntiAffinity", False)):
        for rule in _required(wish.pod, kind):
            there = any(_matches(rule, wish.pod, other) for other in _domain(rule["topologyKey"], node, every))
            if wanted and not there and not _first_of_its_kind(rule, wish.pod, every):
                yield Refusal("PodAffinity", f"has no pod that podAffinity on {rule['topologyKey']} asks for")
            if not wanted and there:
                yield Refusal("PodAntiAffinity", f"has a pod that podAntiAffinity on {rule['topologyKey']} excludes")
    # Pods in other places of a wider topology may exclude it as well; they are too many to ask each.
    if any(_matches(rule, other, wish.pod) for other in node.pods for rule in _required(other, "podAntiAffinity")):
        yield Refusal("PodAntiAffinity", "has a pod whose podAntiAffinity excludes this one")


def _required(pod: Object, kind: str) -> Sequence[Object]:
    found = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return found.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def _first_of_its_kind(rule: Object, pod: Object, every: Sequence[Node]) -> bool:
    """A pod that asks for company of its own kind may be the first one, anywhere."""
    return _matches(rule, pod, pod) and not any(_matches(rule, pod, other) for item in every for other in item.pods)


def _domain(key: str, node: Node, every: Sequence[Node]) -> Iterator[Object]:
    """The pods on nodes with the same value of the topology key."""
    if key not in node.labels:
        return
    if key == "kubernetes.io/hostname":
        yield from node.pods
        return
    for item in every:
        if item.labels.get(key) == node.labels[key]:
            yield from item.pods


def _matches(rule: Object, pod: Object, other: Object) -> bool:
    own: str = pod["metadata"].get("namespace", "")
    everywhere = rule.get("namespaceSelector") == {}
    spaces = rule.get("namespaces") or [own]
    return (everywhere or other["metadata"].get("namespace", "") in spaces) and labels_match(
        rule.get("labelSelector"), other["metadata"].get("labels") or {}
    )


def _host_ports(pod: Object) -> Iterator[tuple[str, int]]:
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield port.get("protocol", "TCP"), int(number)
