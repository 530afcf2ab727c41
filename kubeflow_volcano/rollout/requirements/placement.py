"""Whether the cluster has the nodes and the priority classes that `kubeflow_placement` names.

A PriorityClass that is missing is refused, not created from a value: it ranks pods of the whole cluster, and
`volcano_priority_classes` declares classes already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.taints import Setter, blocking, setter_of, taint_text, untolerated
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.patches.pods.templates import pod_spec
from kubeflow_volcano.rollout.settings.pods.placement import PlacementSettings

_OF_KUBERNETES = frozenset({"system-cluster-critical", "system-node-critical"})
_LASTING = frozenset({Setter.CONTROL_PLANE, Setter.ACCELERATOR, Setter.OTHER})
"""Who sets taints that stay; those of others come and go with the state of the node."""

Parts = Mapping[str, Sequence[Object]]


def unmet_placement(cluster: Cluster, placement: PlacementSettings, parts: Parts) -> Iterator[Problem]:
    """Problems of selectors that no node satisfies, taints that are not tolerated, and missing priority classes.

    Raises:
        ApiError: nodes or priority classes cannot be read.
    """
    if not placement:
        return
    yield from _priority_classes(cluster, placement, parts)
    nodes = cluster.list("v1", "Node").items
    asked: dict[str, tuple[Object, list[str]]] = {}
    for objects in parts.values():
        for obj in objects:
            spec = pod_spec(obj)
            if spec and spec.get("nodeSelector") and obj["kind"] != "DaemonSet":
                terms = repr((sorted(spec["nodeSelector"].items()), spec.get("tolerations")))
                asked.setdefault(terms, (spec, []))[1].append(str(Ref.of(obj)))
    seen: set[tuple[str, str]] = set()
    for spec, names in asked.values():
        for problem in _nodes(spec, names, nodes):
            if (problem.found, problem.todo) not in seen:
                seen.add((problem.found, problem.todo))
                yield problem


def _nodes(spec: Object, names: Sequence[str], nodes: Iterable[Object]) -> Iterator[Problem]:
    selector = ", ".join(f"{key}={value}" for key, value in spec["nodeSelector"].items())
    matching = [node for node in nodes if _has_labels(node, spec["nodeSelector"])]
    whose = f"pods of {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    if not matching:
        yield Problem(
            f"no node has the labels {selector}, which {whose} select.",
            "a node with all of them; the pods would wait for one.",
            f"kubectl label node NAME {selector.replace(', ', ' ')}, or correct kubeflow_placement.",
        )
        return
    kept_away = {str(node["metadata"]["name"]): _lasting(spec, node) for node in matching}
    if all(kept_away.values()):
        taints = sorted({text for texts in kept_away.values() for text in texts})
        yield Problem(
            f"every node with the labels {selector} has a taint that {whose} do not tolerate: {', '.join(taints)}.",
            "a node that takes these pods.",
            "add the toleration to kubeflow_placement.tolerations, or remove the taint from a node.",
        )


def _lasting(spec: Object, node: Object) -> list[str]:
    return [taint_text(item) for item in untolerated(spec, blocking(node)) if setter_of(item["key"]) in _LASTING]


def _has_labels(node: Object, labels: Mapping[str, str]) -> bool:
    present = node["metadata"].get("labels") or {}
    return all(present.get(key) == value for key, value in labels.items())


def _priority_classes(cluster: Cluster, placement: PlacementSettings, parts: Parts) -> Iterator[Problem]:
    wanted = {placement.for_component(name).priority_class for name in parts} - {""} - _OF_KUBERNETES
    if not wanted:
        return
    brought = {
        obj["metadata"]["name"] for objects in parts.values() for obj in objects if obj["kind"] == "PriorityClass"
    }
    present = {item["metadata"]["name"] for item in cluster.list("scheduling.k8s.io/v1", "PriorityClass").items}
    for name in sorted(wanted - brought - present):
        yield Problem(
            f"kubeflow_placement names the PriorityClass {name}, which does not exist.",
            f"one of: {', '.join(sorted(brought | present | _OF_KUBERNETES))}; without it no pod is created.",
            "correct the name, or declare the class in volcano_priority_classes with its value.",
        )
