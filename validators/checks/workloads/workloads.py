"""Family C: is everything there, do the workloads and pods run and keep running, and are they reached."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status
from kubeflow_volcano.validators.core.resources import JOBS, PODS
from kubeflow_volcano.validators.subjects import pods, services, simulation, workloads
from kubeflow_volcano.validators.subjects.gang.leases import LEASES
from kubeflow_volcano.validators.subjects.issues import judged, verdict
from kubeflow_volcano.validators.subjects.workloads import READS

_PODS: tuple[Read, ...] = (*pods.READS, pods.WINDOW)
_WORKLOADS: tuple[Read, ...] = (*READS, pods.WINDOW)


def _of_kind(facts: Facts, check_id: str, kind: str, expected: str) -> Outcome:
    facts.read(pods.WINDOW)
    looked_at = [Ref.of(item) for item in judged(facts, workloads.RESOURCE_OF_KIND[kind])]
    issues = [item for item in workloads.issues(facts) if item.check == check_id]
    claim = f"{counted(len(looked_at), kind)} in the desired state.{simulation.of_workloads(facts, looked_at)}"
    return verdict(issues, looked_at, claim=claim, expected=expected)


@lru_cache(maxsize=2)
def _looked_at(facts: Facts) -> tuple[tuple[Ref, ...], int, int]:
    """Pods that are judged, how many of them are simulated, and how many wait for their gang instead."""
    refs = tuple(Ref.of(item) for item in judged(facts, PODS) if not pods.waits_for_gang(item))
    simulated = len({Ref.of(item) for item in facts.simulated_pods}.intersection(refs))
    return refs, simulated, sum(pods.waits_for_gang(item) for item in judged(facts, PODS))


def _of_pods(facts: Facts, check_id: str, claim: str, expected: str) -> Outcome:
    facts.read(pods.WINDOW)
    looked_at, simulated, waiting = _looked_at(facts)
    note = f" {simulated} of them are simulated." if simulated else ""
    note += f" {waiting} members of gangs wait for their group and are not counted." if waiting else ""
    issues = [item for item in pods.issues(facts) if item.check == check_id]
    owners = [item.check for item in pods.issues(facts) if item.check != check_id and item.status is Status.FAIL]
    note += f" {len(owners)} more reported by {', '.join(sorted(set(owners)))}." if owners else ""
    claim = f"{len(looked_at) - len(owners)} pods {claim}.{note}"
    return verdict(issues, looked_at, claim=claim, expected=expected)


@check("C2", "deployments-available", severity=Severity.BLOCKER, reads=(*_WORKLOADS, LEASES))
def deployments(facts: Facts) -> Outcome:
    """Every Deployment has all its replicas available, in its newest revision.

    If one of its pods has a cause of its own (image, crash, no node), that check reports it and this one follows it.
    Otherwise `kubectl describe deployment` and the events of its ReplicaSet say why pods are not created. A program
    that waits for a leader that is gone does nothing: delete the Lease.
    """
    return _of_kind(facts, "C2", "Deployment", "updated and available replicas equal spec.replicas")


@check("C3", "statefulsets-ready", severity=Severity.BLOCKER, reads=_WORKLOADS)
def stateful_sets(facts: Facts) -> Outcome:
    """Every StatefulSet has all its replicas ready, in its newest revision.

    If one of its pods has a cause of its own, that check reports it and this one follows it. Otherwise see the
    StatefulSet's events and the claims of its pods.
    """
    return _of_kind(facts, "C3", "StatefulSet", "ready and updated replicas equal spec.replicas")


@check("C4", "daemonsets-ready", severity=Severity.BLOCKER, reads=_WORKLOADS)
def daemon_sets(facts: Facts) -> Outcome:
    """Every DaemonSet has a ready pod on each desired node, and at least one.

    If one of its pods has a cause of its own, that check reports it and this one follows it. Otherwise see the
    DaemonSet's events, its node selector and its tolerations.
    """
    return _of_kind(facts, "C4", "DaemonSet", "ready pods equal desired pods, at least 1")


@check("C5", "jobs-complete", severity=Severity.BLOCKER, reads=_WORKLOADS)
def jobs(facts: Facts) -> Outcome:
    """Every Job that must have run is complete, and none has failed.

    The end of the failed pod's log is kept with the report. Correct the cause, delete the Job and apply it again.
    """
    return _of_kind(facts, "C5", "Job", "condition Complete=True")


@check("C6", "pods-ready", severity=Severity.BLOCKER, reads=(*_PODS, JOBS))
def pods_ready(facts: Facts) -> Outcome:
    """Every pod is Running or Succeeded, and stays ready.

    The first container that fails gives the reason. A6 reports images that cannot be pulled, C7 crashes, C8
    unschedulable pods. Pods of users' training jobs are only a warning: the job may be at fault.
    """
    return _of_pods(facts, "C6", "are Running and Ready, or have run to their end", "Running and Ready, unbroken")


@check("C7", "no-restart-loop", severity=Severity.BLOCKER, reads=_PODS)
def no_restart_loop(facts: Facts) -> Outcome:
    """No container is in a crash loop.

    The report keeps the end of the previous container's log; `kubectl logs --previous` shows all of it.
    """
    return _of_pods(facts, "C7", "restarted no container", "no CrashLoopBackOff, no OOM kill, no new restart")


@check("C8", "pods-placed", severity=Severity.BLOCKER, reads=_PODS)
def pods_placed(facts: Facts) -> Outcome:
    """No pod is unschedulable.

    The scheduler's message says what is missing: a resource, a toleration, a label, a bound claim. Members of a waiting
    gang are not counted.
    """
    return _of_pods(facts, "C8", "have their node", f"PodScheduled=True within {facts.timing.grace_seconds:.0f} s")


@check("C9", "services-backed", severity=Severity.MAJOR, reads=services.READS)
def services_backed(facts: Facts) -> Outcome:
    """Every Service with a selector has a ready endpoint on each of its ports.

    A Service that selects no pod, or whose targetPort no container listens on, refuses every connection while its pods
    are ready. Compare its selector with the labels of the pods, and its targetPort with their ports. A Service of the
    cluster's DNS that is scaled to zero is a warning, unless pods find names all the same (E1). A Service of type
    LoadBalancer that gets no address is a warning.
    """
    looked_at = [Ref.of(item) for item in services.with_selector(facts)]
    claim = f"{len(looked_at)} Services are backed, or belong to what is scaled to zero or has ended."
    expected = "a ready endpoint for each port, from pods that the selector names"
    found = services.issues(facts)
    outcome = verdict(found, looked_at, claim=claim, expected=expected)
    by_dns_alone = bool(found) and all(item.reason == services.NO_NAME_SERVER for item in found)
    return replace(outcome, refuted_by=("E1",)) if by_dns_alone else outcome
