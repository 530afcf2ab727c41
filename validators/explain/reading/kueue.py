"""Reads Kueue's objects about a job, only where something points to Kueue and the API server serves it."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.model import Situation, State
from kubeflow_volcano.validators.explain.reading.queries import Query, list_objects, newest_served, read_one
from kubeflow_volcano.validators.explain.scheduling.kueue import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    GROUP,
    KINDS,
    LOCAL_QUEUES,
    VERSIONS,
    WORKLOADS,
    is_marked,
    queue_of,
    workloads,
)
from kubeflow_volcano.validators.subjects.crds import DISCOVERY


def rules(namespace: str) -> tuple[Rule, ...]:
    """Permissions to read all of it for jobs of the namespace."""
    lists = (Query(item, namespace).rule for item in (WORKLOADS, LOCAL_QUEUES))
    return (*lists, *(Rule("get", GROUP, item.partition(".")[0]) for item in (CLUSTER_QUEUES, ADMISSION_CHECKS)))


def with_kueue(cluster: Cluster, situation: Situation) -> Situation:
    """The situation with the job's Workloads, LocalQueues, ClusterQueue and AdmissionChecks.

    A job that is suspended may be Kueue's without a label; any other one is only where it or its pods have a mark.
    Kueue suspends no jobs of Volcano: those are aborted by a command.
    """
    marked = is_marked(situation)
    suspended = situation.state is State.SUSPENDED and situation.job.family != "batch.volcano.sh"
    if not suspended and not (situation.state is State.WAITING and marked):
        return situation
    version, served = newest_served(cluster, VERSIONS, "Workload")
    known = situation.facts.known(DISCOVERY)
    discovered = {**known, version or VERSIONS[0]: served}
    facts = replace(situation.facts, found={**situation.facts.found, DISCOVERY: discovered})
    complete = replace(situation, facts=facts)
    if not served:
        return complete
    space = situation.job.ref.namespace
    complete = _with(complete, WORKLOADS, list_objects(cluster, Query(WORKLOADS, space, version=version)))
    own = workloads(complete)
    if not own and not marked:
        return complete
    complete = _with(complete, LOCAL_QUEUES, list_objects(cluster, Query(LOCAL_QUEUES, space, version=version)))
    named = [
        (CLUSTER_QUEUES, str((item.get("spec") or {}).get("clusterQueue") or ""))
        for item in complete.facts.objects.get(LOCAL_QUEUES, ())
        if item["metadata"]["name"] == queue_of(complete)
    ]
    states = (item for workload in own for item in (workload.get("status") or {}).get("admissionChecks") or ())
    named += [(ADMISSION_CHECKS, str(item.get("name") or "")) for item in states if item.get("state") != "Ready"]
    for resource, name in dict.fromkeys(named):
        rule = Rule("get", GROUP, resource.partition(".")[0])
        ref = Ref(version, KINDS[resource][1], "", name)
        complete = _with(complete, resource, read_one(cluster, ref, rule) if name else ())
    return complete


def _with(situation: Situation, resource: str, answer: tuple[Object, ...] | Unread) -> Situation:
    facts = situation.facts
    if isinstance(answer, Unread):
        return replace(situation, facts=replace(facts, unread={**facts.unread, resource: answer}))
    known = {**facts.objects, resource: (*facts.objects.get(resource, ()), *answer)}
    return replace(situation, facts=replace(facts, objects=known))
