"""What pods on nodes mean for another one: host ports, podAffinity, podAntiAffinity, topologySpreadConstraints.

Rules: pkg/scheduler/framework/plugins of Kubernetes (nodeports, interpodaffinity, podtopologyspread), which Volcano's
plugin predicates calls too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.cluster.admission.webhooks import selects
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.placement.node_affinity import selects_node
from kubeflow_volcano.validators.explain.placement.nodes import Node, Refusal, Wish

_FIELDS = ("podAffinity", "podAntiAffinity")


def of_neighbours(wish: Wish, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    """Why the pods on this node and on others keep the pod off it."""
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
    yield from _of_spread(wish.pod, node, every)
    yield from _of_claims(wish, node, every)


def _of_claims(wish: Wish, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    """Claims that a pod on another node binds there (FindPodVolumes of the plugin volumebinding of Kubernetes)."""
    space = wish.pod["metadata"].get("namespace", "")
    for claim in wish.unbound:
        if any((space, claim) in item.mounted for item in every if item is not node):
            yield Refusal("UnboundClaim", f"is not the node on which claim {claim} is bound for another pod")


def apart(pod: Object) -> list[str]:
    """What keeps identical pods off each other's node or topology domain, in words."""
    ports = sorted({port for _, port in _host_ports(pod)})
    reasons = [f"host port {', '.join(map(str, ports))}"] if ports else []
    rules = (rule for rule in _required(pod, "podAntiAffinity") if _matches(rule, pod, pod))
    reasons += [f"podAntiAffinity on {rule['topologyKey']}" for rule in rules]
    return reasons + [f"topologySpreadConstraints on {rule['topologyKey']}" for rule in _spreads(pod)]


def without_neighbours(pod: Object) -> Object:
    """The pod without what other pods mean for it."""
    spec = pod["spec"]
    affinity = {key: item for key, item in (spec.get("affinity") or {}).items() if key not in _FIELDS}
    containers = [{**item, "ports": []} for item in spec.get("containers") or ()]
    return {
        **pod,
        "spec": {**spec, "affinity": affinity, "containers": containers, "topologySpreadConstraints": []},
    }


def depends_on_order(pod: Object) -> bool:
    """Whether a node that refuses the pod may accept it once identical pods are on others."""
    return any(_spreads(pod)) or bool(_required(pod, "podAffinity"))


def _spreads(pod: Object) -> Iterator[Object]:
    """The constraints that keep the pod off nodes."""
    for rule in pod["spec"].get("topologySpreadConstraints") or ():
        if rule.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            yield rule


def _of_spread(pod: Object, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    rules = list(_spreads(pod))
    if missing := [rule["topologyKey"] for rule in rules if rule["topologyKey"] not in node.labels]:
        yield Refusal("SpreadKey", f"lacks the label {', '.join(missing)}, over which topologySpreadConstraints spread")
        return
    keys = {rule["topologyKey"] for rule in rules}
    for rule in rules:
        counts = _counts(rule, pod, [item for item in every if keys <= item.labels.keys()])
        key, least = rule["topologyKey"], min(counts.values(), default=0)
        if len(counts) < (rule.get("minDomains") or 1):
            least = 0
        if counts.get(node.labels[key], 0) + _spread_over(rule, pod, pod) - least > rule.get("maxSkew", 1):
            text = f"has {counts.get(node.labels[key], 0)} such pods in its {key}, {least} are in another one"
            yield Refusal("Spread", f"{text}, and maxSkew is {rule.get('maxSkew', 1)}")


def _counts(rule: Object, pod: Object, nodes: Sequence[Node]) -> Mapping[str, int]:
    """Pods that the constraint counts, by topology domain."""
    counts: dict[str, int] = {}
    for node in nodes:
        count = _count(rule, pod, node)
        if count is not None:
            domain = node.labels[rule["topologyKey"]]
            counts[domain] = counts.get(domain, 0) + count
    return counts


def _count(rule: Object, pod: Object, node: Node) -> int | None:
    """Pods on the node that the constraint counts; None where the pod cannot go there, which makes it no domain."""
    known = node.counted.get(id(rule))
    if known and known[0] == len(node.pods):
        return known[1]
    honours = rule.get("nodeAffinityPolicy", "Honor") == "Honor"
    left_out = honours and not selects_node(pod["spec"], node.obj)
    count = None if left_out else sum(_spread_over(rule, pod, other) for other in node.pods)
    node.counted[id(rule)] = len(node.pods), count
    return count


def _spread_over(rule: Object, pod: Object, other: Object) -> bool:
    """Whether the constraint of the pod counts another one of its namespace."""
    if other["metadata"].get("namespace", "") != pod["metadata"].get("namespace", ""):
        return False
    labels, own = other["metadata"].get("labels") or {}, pod["metadata"].get("labels") or {}
    alike = all(labels.get(key) == own[key] for key in rule.get("matchLabelKeys") or () if key in own)
    selector = rule.get("labelSelector")
    return alike and selector is not None and selects(selector, labels)


def _required(pod: Object, kind: str) -> Sequence[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


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
