"""Whether the cluster has gangs of Kubernetes itself where the inventory wants these, before the first change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.catalog.gangs import KUBERNETES
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.native_gangs import GATE, native_gangs, unmet
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.gang.native import makers


def unmet_gangs(
    cluster: Cluster, gang_scheduler: str, parts: Mapping[str, Sequence[Object]], progress: Progress
) -> Iterator[Problem]:
    """The problem of each program that lacks them; who makes their PodGroups, and what is not known, are notes.

    Raises:
        ApiError: discovery does not answer, or pods of kube-system cannot be read.
    """
    if gang_scheduler != KUBERNETES.name:
        return
    found = native_gangs(cluster, cluster.list("v1", "Pod", namespace="kube-system").items)
    problems = [problem for _, problem in unmet(found)]
    yield from problems
    if not problems:
        for name in found.unread:
            progress(f"note: no pod of kube-system shows whether {name} has {GATE} on; checks H1, H2 and H8 try it")
        for line in makers(parts):
            progress(f"note: {line}")
