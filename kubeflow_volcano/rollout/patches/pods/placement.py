"""Terms of placement in the pods of every component, beside those that a release gives them.

A DaemonSet serves the nodes on which it runs, as Istio's CNI plugin serves the pods of users there. So the node
selector of all components is not for DaemonSets; one for their component is.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.pods.templates import pod_spec
from kubeflow_volcano.rollout.settings.pods.placement import PlacementSettings


def place_pods(objects: Iterable[Object], component: str, placement: PlacementSettings) -> None:
    """Give the pods of a component's workloads the terms.

    Terms of the release stay: labels that it selects keep their values, tolerations are added, and pods with a
    priority class keep it.
    """
    terms = placement.for_component(component)
    for obj in objects if placement else ():
        spec = pod_spec(obj)
        if spec is None:
            continue
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
