"""Which nodes accept a pod, and why the others refuse it: the scheduler's filters applied to a snapshot.

Rules: pkg/scheduler/framework/plugins of Kubernetes, v1.22 to v1.37 (nodeunschedulable, tainttoleration, nodeaffinity,
noderesources, volumebinding, dynamicresources), which Volcano's plugin predicates calls too, v1.8.0 to v1.15.1. A node
that is not Ready takes pods that tolerate the taint it has for that (nodeConditionToTaintKeyStatusMap of
pkg/controller/nodelifecycle of Kubernetes); Volcano before 1.11 gave it none (setNodeState of
pkg/scheduler/api/node_info.go). Arguments of plugin predicates switch filters off (enablePredicate there); without the
plugin there are none but those of resources. Volcano knows no node that its flag --node-selector leaves out
(nodeCanAddCache of pkg/scheduler/cache/event_handlers.go, v1.8.0 to v1.15.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

from kubeflow_volcano.cluster.objects import conditions
from kubeflow_volcano.cluster.pods.quantities import readable
from kubeflow_volcano.cluster.pods.taints import taint_text, untolerated
from kubeflow_volcano.cluster.volcano import knows
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.placement.neighbours import of_neighbours
from kubeflow_volcano.validators.explain.placement.node_affinity import (
    missing_labels,
    required_terms,
    terms_match,
    terms_text,
)
from kubeflow_volcano.validators.explain.placement.nodes import Node, Refusal, Wish
from kubeflow_volcano.validators.explain.scheduling.volcano import configuration, older
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import version

_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_NOT_READY = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}
"""By status of the condition Ready, the key of the taint that it brings."""
_BY_TAINT_SINCE, _BINDS_SINCE = "1.11.0", "1.12.0"
"""Versions of Volcano: a node that is not Ready is a matter of taints, and plugin predicates binds volumes."""
_SWITCHES = {
    "NodeAffinityEnable": frozenset({"Affinity", "Selector"}),
    "NodePortsEnable": frozenset({"HostPort"}),
    "PodAffinityEnable": frozenset({"PodAffinity", "PodAntiAffinity"}),
    "PodTopologySpreadEnable": frozenset({"Spread", "SpreadKey"}),
    "TaintTolerationEnable": frozenset({"NotReady", "Taint"}),
    "VolumeBindingEnable": frozenset({"UnboundClaim", "Volume"}),
}
"""Arguments of plugin predicates, and for what reasons no node refuses a pod where they are false."""


def refusals(wish: Wish, node: Node, every: Sequence[Node]) -> tuple[Refusal, ...]:
    """Every reason why the node refuses the pod; none where it accepts it. One that is not known is not asked more."""
    if not knows(wish.served, node.obj):
        labels = ", ".join(f"{label}={value}" for label, value in wish.served)
        return (Refusal("LeftOut", f"has no label of the scheduler's --node-selector ({labels})"),)
    found = (*_of_node(wish, node), *_of_resources(wish, node), *of_neighbours(wish, node, every))
    return tuple(item for item in found if item.reason not in wish.ignored)


@lru_cache(maxsize=4)
def ignored_by_volcano(facts: Facts) -> frozenset[str]:
    """Reasons for which Volcano, as it is configured, keeps no pod off a node; none where that is not known."""
    chosen = None if facts.unread.keys() & {"deployments.apps", "configmaps"} else configuration(facts)
    if chosen is None:
        return frozenset()
    plugin = chosen.plugins.get("predicates", {"enablePredicate": False})
    arguments = plugin.get("arguments") or {}
    off = [reasons for name, reasons in _SWITCHES.items() if _is_false(arguments.get(f"predicate.{name}"))]
    if plugin.get("enablePredicate") is False:
        off = [*_SWITCHES.values(), frozenset({"Cordoned"})]
    running = version(facts)
    others = {"NotReady"} if older(running, _BY_TAINT_SINCE) else set()
    others |= _SWITCHES["VolumeBindingEnable"] if older(running, _BINDS_SINCE) else set()
    return frozenset().union(*off) - others


def _is_false(value: object) -> bool:
    return str(value).lower() in {"0", "f", "false"}


def _of_node(wish: Wish, node: Node) -> Iterator[Refusal]:
    pod, spec = wish.pod["spec"], node.obj.get("spec", {})
    key = _NOT_READY.get(conditions(node.obj).get("Ready", {}).get("status", ""))
    if key and untolerated(pod, [{"key": key, "effect": "NoSchedule"}]):
        yield Refusal("NotReady", "is not Ready")
    if spec.get("unschedulable") and untolerated(pod, [_CORDON]):
        yield Refusal("Cordoned", "is cordoned")
    taints = [item for item in spec.get("taints") or () if item["key"] != _CORDON["key"]]
    if taint := untolerated(pod, taints):
        yield Refusal("Taint", f"has the taint {', '.join(map(taint_text, taint))}")
    if missing := missing_labels(pod, node.obj):
        yield Refusal("Selector", f"lacks the label {', '.join(missing)}")
    required = required_terms(pod)
    if required is not None and not terms_match(required, node.obj):
        yield Refusal("Affinity", f"does not match {terms_text(required)}")
    for claim, terms in wish.volumes:
        if not terms_match(terms, node.obj):
            yield Refusal("Volume", f"cannot reach the volume of claim {claim}, which requires {terms_text(terms)}")
    for claim, terms in wish.devices:
        if not terms_match(terms, node.obj):
            text = f"cannot reach the devices that ResourceClaim {claim} has, which require {terms_text(terms)}"
            yield Refusal("DeviceClaim", text)


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
