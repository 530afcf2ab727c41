"""Terms of placement in the pods of every component, beside those that a release gives them.

A DaemonSet serves the nodes on which it runs, as Istio's CNI plugin serves the pods of users there. So the node
selector of all components is not for DaemonSets; one for their component is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

from kubeflow_volcano.apply.graph import WORKLOAD_KINDS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.templates import pod_spec
from kubeflow_volcano.rollout.settings.pods.placement import PlacementSettings


def with_placement(component: str, objects: Iterable[Object], placement: PlacementSettings) -> tuple[Object, ...]:
    """The objects of a component with the terms in the pods of its workloads, changed on copies.

    Terms of the release stay: labels that it selects keep their values, tolerations are added, and pods with a
    priority class keep it. kubeflow_patches are merged into the result, so they win.
    """
    patched = tuple(objects)
    if not placement:
        return patched
    return tuple(_placed(component, obj, placement) for obj in patched)


def _placed(component: str, given: Object, placement: PlacementSettings) -> Object:
    if given["kind"] not in WORKLOAD_KINDS:
        return given
    obj = copy.deepcopy(given)
    spec = pod_spec(obj) or {}
    terms = placement.for_component(component)
    selector = terms.node_selector
    if obj["kind"] == "DaemonSet":
        selector = placement.own(component).node_selector or {}
    if selector:
        spec["nodeSelector"] = {**selector, **(spec.get("nodeSelector") or {})}
    present = spec.get("tolerations") or []
    if added := [dict(item) for item in terms.tolerations if item not in present]:
        spec["tolerations"] = [*present, *added]
    if terms.priority_class and not spec.get("priorityClassName"):
        spec["priorityClassName"] = terms.priority_class
    return obj
