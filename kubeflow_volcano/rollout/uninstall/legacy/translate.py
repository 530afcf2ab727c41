"""PodGroups and queues of kube-batch as Volcano has them: the same names and gangs, in Volcano's API group.

Source of the fields: kubernetes-retired/kube-batch pkg/apis/scheduling/v1alpha2/types.go; v1alpha1 has fewer of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.objects import Object, has_ended

GROUP_MARK = VOLCANO.mark[-1]
"""The annotation in which pods name their PodGroup; Volcano kept the one of kube-batch."""

_FIELDS = {
    "PodGroup": ("minMember", "queue", "priorityClassName", "minResources"),
    "Queue": ("weight", "capability"),
}


def translated(old: Object) -> Object | None:
    """Volcano's object in place of one of kube-batch, without its status; None for a kind that Volcano has not."""
    fields = _FIELDS.get(old["kind"])
    if fields is None:
        return None
    given: Mapping[str, Any] = old.get("spec") or {}
    meta = {key: old["metadata"][key] for key in ("name", "namespace", "labels") if key in old["metadata"]}
    spec = {key: given[key] for key in fields if key in given}
    return {"apiVersion": VOLCANO.api_version, "kind": old["kind"], "metadata": meta, "spec": spec}


def foreign_schedulers(group: Object, pods: Collection[Object], own: Collection[str]) -> set[str]:
    """The schedulers other than `own` of unfinished pods that name this PodGroup; theirs it is as long as they run."""
    meta = group["metadata"]
    return {
        pod["spec"].get("schedulerName", "")
        for pod in pods
        if pod["metadata"]["namespace"] == meta.get("namespace")
        and (pod["metadata"].get("annotations") or {}).get(GROUP_MARK) == meta["name"]
        and not has_ended(pod)
    } - set(own)
