"""The jobs and gangs that run now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.apply.removing.managed import preferred_kinds
from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.stored_versions import lost_version
from kubeflow_volcano.rollout.backup.selection import has_ended
from kubeflow_volcano.rollout.gang.wiring import OPERATORS

ACTING = frozenset({*OPERATORS, *GANG_SCHEDULERS})
"""Components without which running jobs are on their own."""
_JOBS = frozenset({"kubeflow.org", "trainer.kubeflow.org", "batch.volcano.sh"})
_GROUPS = frozenset({"scheduling.volcano.sh", "scheduling.x-k8s.io"})


def running_jobs(cluster: Cluster) -> tuple[Ref, ...]:
    """Training jobs and Jobs of Volcano that have neither ended nor are suspended, and PodGroups of others that run.

    Raises:
        ApiError: they cannot be read.
    """
    kinds = [*preferred_kinds(cluster)]
    jobs = [
        obj
        for resource in kinds
        if resource.key[0] in _JOBS and resource.kind.endswith("Job")
        for obj in _listed(cluster, resource)
    ]
    uids = {obj["metadata"]["uid"] for obj in jobs}
    groups = [
        obj
        for resource in kinds
        if resource.key[0] in _GROUPS and resource.kind == "PodGroup"
        for obj in _listed(cluster, resource)
        if uids.isdisjoint(_owners(obj))
    ]
    running = [obj for obj in jobs if _runs(obj)]
    running += [obj for obj in groups if (obj.get("status") or {}).get("phase") == "Running"]
    return tuple(sorted(map(Ref.of, running)))


def _listed(cluster: Cluster, resource: Resource) -> Sequence[Object]:
    """The objects of a kind; none where its CRD lacks a version, which callers report as a problem of its own."""
    try:
        return cluster.list(resource.api_version, resource.kind).items
    except ApiError as error:
        if lost_version(error.message):
            return ()
        raise


def _runs(job: Object) -> bool:
    spec = job.get("spec") or {}
    suspended = spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend")
    return not suspended and not has_ended(job) and "deletionTimestamp" not in job["metadata"]


def _owners(obj: Object) -> Iterator[str]:
    for owner in obj["metadata"].get("ownerReferences") or ():
        yield owner["uid"]
