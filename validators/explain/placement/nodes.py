"""Which nodes accept a pod, and why the others refuse it: the scheduler's filters applied to a snapshot.

Rules: pkg/scheduler/framework/plugins of Kubernetes (nodeunschedulable, tainttoleration, nodeaffinity,
noderesources, nodeports, interpodaffinity, volumebinding), which Volcano's plugin predicates calls too. Volcano
ignores nodes that are not Ready (pkg/scheduler/api/node_info.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.admission.webhooks import selects
from kubeflow_volcano.cluster.objects import Object, conditions
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.cluster.pods.taints import taint_text, untolerated
from validators.core.facts import Facts

__all__ = ["Node", "Refusal", "Wish", "nodes_of", "nodes_with_pods", "refusals"]

_ENDED = frozenset({"Succeeded", "Failed"})
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


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

    def add(self, wish: Wish) -> None:
        """Place one such pod on the node."""
        self.used = total((self.used, wish.requests))
        self.pods.append(wish.pod)


@dataclass(frozen=True, slots=True)
class Wish:
    """What identical pods require of a node. `volumes` are claims with the node selector terms of their volumes."""

    pod: Object
    requests: Amounts
    volumes: tuple[tuple[str, Sequence[Object]], ...] = ()

    @classmethod
    def of(cls, pod: Object, volumes: tuple[tuple[str, Sequence[Object]], ...] = ()) -> Wish:
        """Requirements of a pod, or of a pod template with a namespace in its metadata."""
        return cls(pod, {**pod_requests(pod["spec"]), "pods": Decimal(1)}, volumes)


def nodes_of(nodes: Iterable[Object], pods: Iterable[Object]) -> tuple[Node, ...]:
    """Every node with the requests of the pods on it, in order of name."""
    on: dict[str, list[Object]] = {}
    for pod in pods:
        if pod.get("status", {}).get("phase") not in _ENDED and pod["spec"].get("nodeName"):
            on.setdefault(pod["spec"]["nodeName"], []).append(pod)
    ordered = sorted(nodes, key=lambda item: str(item["metadata"]["name"]))
    return tuple(_node(item, on.get(item["metadata"]["name"], [])) for item in ordered)


def nodes_with_pods(facts: Facts) -> tuple[Node, ...]:
    """The nodes of the cluster, as `nodes_of` returns them."""
    return nodes_of(facts.all("nodes"), facts.all("pods"))


def _node(obj: Object, pods: list[Object]) -> Node:
    status = obj.get("status", {})
    used = total([*(pod_requests(pod["spec"]) for pod in pods), {"pods": Decimal(len(pods))}])
    return Node(obj, amounts(status.get("allocatable") or status.get("capacity")), used, pods)


def refusals(wish: Wish, node: Node, every: Sequence[Node]) -> tuple[Refusal, ...]:
    """Every reason why the node refuses the pod; none where it accepts it."""
    return (*_of_node(wish, node), *_of_resources(wish, node), *_of_neighbours(wish, node, every))


def _of_node(wish: Wish, node: Node) -> Iterator[Refusal]:
    pod, spec = wish.pod["spec"], node.obj.get("spec", {})
    if conditions(node.obj).get("Ready", {}).get("status") != "True":
        yield Refusal("NotReady", "is not Ready")
    if spec.get("unschedulable") and untolerated(pod, [_CORDON]):
        yield Refusal("Cordoned", "is cordoned")
    taints = [item for item in spec.get("taints") or () if item["key"] != _CORDON["key"]]
    if found := untolerated(pod, taints):
        yield Refusal("Taint", f"has the taint {', '.join(map(taint_text, found))}")
    wanted: Mapping[str, str] = pod.get("nodeSelector") or {}
    if missing := [f"{key}={value}" for key, value in wanted.items() if node.labels.get(key) != value]:
        yield Refusal("Selector", f"lacks the label {', '.join(missing)}")
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not _terms_match(required.get("nodeSelectorTerms"), node.obj):
        yield Refusal("Affinity", f"does not match {_terms_text(required.get('nodeSelectorTerms'))}")
    for claim, terms in wish.volumes:
        if not _terms_match(terms, node.obj):
            yield Refusal("Volume", f"cannot reach the volume of claim {claim}, which requires {_terms_text(terms)}")


def _of_resources(wish: Wish, node: Node) -> Iterator[Refusal]:
    for name, amount in wish.requests.items():
        if amount > 0 and amount > node.free(name):
            has, free = node.allocatable.get(name, Decimal(0)), max(node.free(name), Decimal(0))
            if not has:
                yield Refusal("Absent", f"has no {name}", name)
                continue
            text = f"{name}: requests {readable(name, amount)}, {readable(name, free)} of {readable(name, has)} free"
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
            if wanted and not there and not _is_first_of_its_kind(rule, wish.pod, every):
                yield Refusal("PodAffinity", f"has no pod that podAffinity on {rule['topologyKey']} requires")
            if not wanted and there:
                yield Refusal("PodAntiAffinity", f"has a pod that podAntiAffinity on {rule['topologyKey']} excludes")
    # Pods elsewhere in a wider topology domain may exclude it as well; checking each of them takes too long.
    if any(_matches(rule, other, wish.pod) for other in node.pods for rule in _required(other, "podAntiAffinity")):
        yield Refusal("PodAntiAffinity", "has a pod whose podAntiAffinity excludes this one")


def _required(pod: Object, kind: str) -> Sequence[Object]:
    found = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return found.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def _is_first_of_its_kind(rule: Object, pod: Object, every: Sequence[Node]) -> bool:
    """Whether the pod satisfies its own podAffinity and no other pod does: it may go anywhere."""
    return _matches(rule, pod, pod) and not any(_matches(rule, pod, other) for item in every for other in item.pods)


def _domain(key: str, node: Node, every: Sequence[Node]) -> Iterator[Object]:
    """Pods on the nodes of the same topology domain."""
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
    if not everywhere and other["metadata"].get("namespace", "") not in spaces:
        return False
    selector = rule.get("labelSelector")  # none selects nothing, an empty one everything
    return selector is not None and selects(selector, other["metadata"].get("labels") or {})


def _host_ports(pod: Object) -> Iterator[tuple[str, int]]:
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield port.get("protocol", "TCP"), int(number)


def _terms_match(terms: Iterable[Object] | None, node: Object) -> bool:
    """Whether one of the node selector terms matches; a term without expressions matches nothing."""
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _all_hold(term.get("matchExpressions"), labels)
        and _all_hold(term.get("matchFields"), fields)
        for term in terms or ()
    )


def _terms_text(terms: Iterable[Object] | None) -> str:
    """Node selector terms in words, such as `zone In a,b`."""
    return " or ".join(
        " and ".join(
            f"{item['key']} {item['operator']} {','.join(item.get('values') or ())}".rstrip()
            for item in [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        )
        for term in terms or ()
    )


def _all_hold(expressions: Iterable[Object] | None, values: Mapping[str, str]) -> bool:
    return all(
        _OPERATORS[item["operator"]](values.get(item["key"]), item.get("values") or ()) for item in expressions or ()
    )


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _is_beyond(value: str | None, limits: Iterable[str], sign: int) -> bool:
    found, limit = _number(value), _number(next(iter(limits), None))
    return found is not None and limit is not None and sign * found > sign * limit


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": lambda value, values: _is_beyond(value, values, 1),
    "Lt": lambda value, values: _is_beyond(value, values, -1),
}
