"""What pods on nodes mean for another one: host ports, podAffinity, podAntiAffinity, topologySpreadConstraints.

Rules: pkg/scheduler/framework/plugins of Kubernetes, v1.22 to v1.37 (nodeports, interpodaffinity, podtopologyspread),
which Volcano's plugin predicates calls too, v1.8.0 to v1.15.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubeflow_volcano.cluster.admission.webhooks import selects
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.taints import untolerated
from kubeflow_volcano.validators.explain.placement.node_affinity import selects_node
from kubeflow_volcano.validators.explain.placement.nodes import Node, Refusal, Wish

_FIELDS = ("podAffinity", "podAntiAffinity")
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - it is compared, nothing listens there


def of_neighbours(wish: Wish, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    """Why the pods on this node and on others keep the pod off it."""
    if clash := _clash(wish.pod, node):
        yield Refusal("HostPort", f"has host port {', '.join(map(str, clash))} in use")
    yield from _of_affinity(wish.pod, node, every)
    for rule in _required(wish.pod, "podAntiAffinity"):
        if any(_matches(rule, wish.pod, other) for other in _domain(rule["topologyKey"], node, every)):
            yield Refusal("PodAntiAffinity", f"has a pod that podAntiAffinity on {rule['topologyKey']} excludes")
    # Pods elsewhere in a wider topology domain may exclude it as well; checking each of them takes too long.
    theirs = ((rule, other) for other in node.pods for rule in _required(other, "podAntiAffinity"))
    if any(rule["topologyKey"] in node.labels and _matches(rule, other, wish.pod) for rule, other in theirs):
        yield Refusal("PodAntiAffinity", "has a pod whose podAntiAffinity excludes this one")
    yield from _of_spread(wish.pod, node, every)
    yield from _of_claims(wish, node, every)


def _clash(pod: Object, node: Node) -> list[int]:
    """Host ports that are in use on an address which the pod wants (CheckConflict of HostPortInfo)."""
    wanted = set(_host_ports(pod))
    taken = {item for other in node.pods for item in _host_ports(other)} if wanted else set()
    return sorted(
        {
            port
            for address, protocol, port in wanted
            for other, *rest in taken
            if rest == [protocol, port] and (address == other or _EVERY_ADDRESS in {address, other})
        }
    )


def _of_affinity(pod: Object, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    """No pod in one of the domains matches all rules, and the pod is not the first of its kind (satisfyPodAffinity)."""
    rules = _required(pod, "podAffinity")
    if any(rule.get("namespaceSelector") for rule in rules):
        return  # labels of namespaces are not known here

    def is_wanted(other: Object) -> bool:
        return all(_matches(rule, pod, other) for rule in rules)

    keys = list(dict.fromkeys(rule["topologyKey"] for rule in rules))
    alone = [key for key in keys if not any(map(is_wanted, _domain(key, node, every)))]
    if not alone or (node.labels.keys() >= {*keys} and is_wanted(pod) and not _are_somewhere(is_wanted, keys, every)):
        return
    yield from (Refusal("PodAffinity", f"has no pod that podAffinity on {key} requires") for key in alone)


def _are_somewhere(is_wanted: Callable[[Object], bool], keys: Sequence[str], every: Sequence[Node]) -> bool:
    """Whether there are such pods in a domain of one of the labels; those elsewhere do not count."""
    return any(is_wanted(other) for item in every if not item.labels.keys().isdisjoint(keys) for other in item.pods)


def _of_claims(wish: Wish, node: Node, every: Sequence[Node]) -> Iterator[Refusal]:
    """Claims that a pod on another node binds there (FindPodVolumes of the plugin volumebinding of Kubernetes)."""
    space = wish.pod["metadata"].get("namespace", "")
    for claim in wish.unbound:
        if any((space, claim) in item.mounted for item in every if item is not node):
            yield Refusal("UnboundClaim", f"is not the node on which claim {claim} is bound for another pod")


def apart(pod: Object) -> list[str]:
    """What keeps identical pods off each other's node or topology domain, in words."""
    ports = sorted({port for *_, port in _host_ports(pod)})
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
    """Pods on the node that the constraint counts; None where the pod cannot go there, which makes it no domain.

    Rule: matchNodeInclusionPolicies; nodeTaintsPolicy is read from v1.26 on, and earlier servers drop the field.
    """
    known = node.counted.get(id(rule))
    if known and known[0] == len(node.pods):
        return known[1]
    is_left_out = (rule.get("nodeAffinityPolicy", "Honor") == "Honor" and not selects_node(pod["spec"], node.obj)) or (
        rule.get("nodeTaintsPolicy", "Ignore") == "Honor"
        and bool(untolerated(pod["spec"], node.obj.get("spec", {}).get("taints") or ()))
    )
    count = None if is_left_out else sum(_spread_over(rule, pod, other) for other in node.pods)
    node.counted[id(rule)] = len(node.pods), count
    return count


def _spread_over(rule: Object, pod: Object, other: Object) -> bool:
    """Whether the constraint of the pod counts another one of its namespace.

    Rule: countPodsMatchSelector: none that is being deleted, and none at all where nothing is selected by.
    """
    meta, mine = other["metadata"], pod["metadata"]
    if meta.get("namespace", "") != mine.get("namespace", "") or meta.get("deletionTimestamp"):
        return False
    keys = [key for key in rule.get("matchLabelKeys") or () if key in _labels(pod)]
    selector = rule.get("labelSelector")
    is_empty = not (keys or any((selector or {}).values()))
    return selector is not None and not is_empty and _is_alike(keys, pod, other) and _selects(selector, other)


def _is_alike(keys: Iterable[str], pod: Object, other: Object) -> bool:
    own = _labels(pod)
    return all(_labels(other).get(key) == own[key] for key in keys if key in own)


def _selects(selector: Object, pod: Object) -> bool:
    return selects(selector, _labels(pod))


def _required(pod: Object, kind: str) -> Sequence[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


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
    """Whether the pod's rule is about the other one; not where that depends on labels of namespaces.

    Rule: GetNamespacesFromPodAffinityTerm and AffinityTerm.Matches of pkg/scheduler/framework/types.go; the API server
    adds matchLabelKeys and mismatchLabelKeys to the selector (applyMatchLabelKeysAndMismatchLabelKeys of
    pkg/registry/core/pod/strategy.go, from v1.29 on).
    """
    where = rule.get("namespaceSelector")
    spaces = rule.get("namespaces") or ([pod["metadata"].get("namespace", "")] if where is None else ())
    if where != {} and other["metadata"].get("namespace", "") not in spaces:
        return False
    selector = rule.get("labelSelector")  # none selects nothing, an empty one everything
    if selector is None or not _selects(selector, other) or not _is_alike(rule.get("matchLabelKeys") or (), pod, other):
        return False
    return not any(_is_alike([key], pod, other) for key in rule.get("mismatchLabelKeys") or () if key in _labels(pod))


def _labels(pod: Object) -> Mapping[str, str]:
    return pod["metadata"].get("labels") or {}


def _host_ports(pod: Object) -> Iterator[tuple[str, str, int]]:
    """Address, protocol and number of each."""
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield port.get("hostIP") or _EVERY_ADDRESS, port.get("protocol", "TCP"), int(number)
