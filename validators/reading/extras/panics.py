"""What containers of Volcano said before they were started again."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Ref
from validators.core.facts import Facts
from validators.subjects.pods import workload_of

__all__ = ["volcano_previous_logs"]

_LINES = 400
"""A panic stands before the stack of one goroutine, at the end of the log."""


def volcano_previous_logs(cluster: Cluster, facts: Facts) -> Mapping[tuple[Ref, str], str]:
    """By pod and container: the end of the log of the container before the one that is there now, where one was."""
    ours = {ref for ref, component in facts.expectations.workloads.items() if component == "volcano"}
    logs: dict[tuple[Ref, str], str] = {}
    for pod in facts.all("pods"):
        if workload_of(pod) not in ours:
            continue
        ref = Ref.of(pod)
        for item in pod.get("status", {}).get("containerStatuses") or ():
            if item.get("restartCount"):
                logs[ref, item["name"]] = _previous(cluster, ref, item["name"])
    return logs


def _previous(cluster: Cluster, pod: Ref, container: str) -> str:
    try:
        return cluster.logs(pod.namespace, pod.name, container, previous=True, tail=_LINES)
    except ApiError as error:
        if "previous terminated container" in error.message:  # the kubelet has removed it by now
            return ""
        raise
