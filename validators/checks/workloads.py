"""Family C: do the workloads and pods run, and keep running."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Ref
from validators import pods, simulation, workloads
from validators.facts import Facts
from validators.model import Outcome, Rule, Severity, check
from validators.troubles import GRACE_SECONDS, judged, verdict
from validators.workloads import READS

__all__ = ["CHECKS"]

_PODS = (Rule("list", "", "pods"), Rule("watch", "", "pods"), Rule("list", "", "namespaces"))
_WORKLOADS = (*READS, Rule("watch", "", "pods"))


def _of_kind(facts: Facts, check_id: str, kind: str, expected: str) -> Outcome:
    facts.demand("window")
    looked_at = [Ref.of(item) for item in judged(facts, workloads.RESOURCE_OF_KIND[kind])]
    found = [item for item in workloads.troubled(facts) if item.check == check_id]
    claim = f"{len(looked_at)} of kind {kind} are as asked for.{simulation.of_workloads(facts, looked_at)}"
    return verdict(found, looked_at, claim=claim, expected=expected)


def _of_pods(facts: Facts, check_id: str, claim: str, expected: str) -> Outcome:
    facts.demand("window")
    looked_at = [Ref.of(item) for item in judged(facts, "pods") if not pods.waits_for_gang(item)]
    simulated = len({Ref.of(item) for item in facts.simulated_pods}.intersection(looked_at))
    waiting = sum(pods.waits_for_gang(item) for item in judged(facts, "pods"))
    told = f" {simulated} of them are simulated." if simulated else ""
    told += f" {waiting} members of gangs wait for their group and are not counted." if waiting else ""
    found = [item for item in pods.troubled(facts) if item.check == check_id]
    return verdict(found, looked_at, claim=f"{len(looked_at)} pods {claim}.{told}", expected=expected)


@check("C2", "deployments-available", severity=Severity.BLOCKER, needs=_WORKLOADS)
def deployments(facts: Facts) -> Outcome:
    """Every Deployment has all its replicas available, in its newest revision.

    Where a pod says why (image, crash, no node), that check names the cause and this one follows it. Otherwise
    `kubectl describe deployment` and the events of its ReplicaSet say what refuses the pods.
    """
    return _of_kind(facts, "C2", "Deployment", "updated and available replicas equal spec.replicas")


@check("C3", "statefulsets-ready", severity=Severity.BLOCKER, needs=_WORKLOADS)
def stateful_sets(facts: Facts) -> Outcome:
    """Every StatefulSet has all its replicas ready, in its newest revision.

    Where a pod says why, that check names the cause and this one follows it. Otherwise look at the StatefulSet's
    events and at the claims of its pods.
    """
    return _of_kind(facts, "C3", "StatefulSet", "ready and updated replicas equal spec.replicas")


@check("C4", "daemonsets-ready", severity=Severity.BLOCKER, needs=_WORKLOADS)
def daemon_sets(facts: Facts) -> Outcome:
    """Every DaemonSet is ready on every node that it asks for, and asks for one at least.

    Where a pod says why, that check names the cause and this one follows it. Otherwise look at the DaemonSet's
    events, its node selector and its tolerations.
    """
    return _of_kind(facts, "C4", "DaemonSet", "ready pods equal desired pods, at least 1")


@check("C5", "jobs-complete", severity=Severity.BLOCKER, needs=_WORKLOADS)
def jobs(facts: Facts) -> Outcome:
    """Every Job that must have run is complete, and none has failed.

    The end of the failed pod's log is kept with the report. Correct the cause, delete the Job and apply it again.
    """
    return _of_kind(facts, "C5", "Job", "condition Complete=True")


@check("C6", "pods-ready", severity=Severity.BLOCKER, needs=_PODS)
def pods_ready(facts: Facts) -> Outcome:
    """Every pod runs, is ready and stays so.

    The first bad container names the reason. Images that do not arrive are told by A6, crashes by C7, pods without a
    node by C8.
    """
    return _of_pods(facts, "C6", "are Running and Ready, or have run to their end", "Running and Ready, unbroken")


@check("C7", "no-restart-loop", severity=Severity.BLOCKER, needs=_PODS)
def no_restart_loop(facts: Facts) -> Outcome:
    """No container crashes again and again.

    The end of the previous container's log is kept with the report; `kubectl logs --previous` shows all of it.
    """
    return _of_pods(facts, "C7", "restarted no container", "no CrashLoopBackOff, no OOM kill, no new restart")


@check("C8", "pods-placed", severity=Severity.BLOCKER, needs=_PODS)
def pods_placed(facts: Facts) -> Outcome:
    """No pod waits for a node.

    The scheduler's message says what is missing: a resource, a toleration, a label, a bound claim. Members of a gang
    that waits as a whole are not counted.
    """
    return _of_pods(facts, "C8", "have their node", f"PodScheduled=True within {GRACE_SECONDS:.0f} s")


CHECKS = (deployments, stateful_sets, daemon_sets, jobs, pods_ready, no_restart_loop, pods_placed)
