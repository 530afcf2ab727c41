"""Family C: is everything there, do the workloads and pods run and keep running, and are they reached."""

from __future__ import annotations

from functools import lru_cache

from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS
from kubeflow_volcano.cluster.objects import Ref
from validators.checks.workloads.holdings import holdings_verdict
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status
from validators.core.rights import BACKENDS, HOMES, Rule
from validators.subjects import crds, pods, services, simulation, workloads
from validators.subjects.troubles import GRACE_SECONDS, judged, verdict
from validators.subjects.warning_events import events_verdict
from validators.subjects.workloads import READS

__all__ = ["CHECKS"]

_PODS = (Rule("list", "", "pods"), Rule("watch", "", "pods"), Rule("list", "", "namespaces"))
_WORKLOADS = (*READS, Rule("watch", "", "pods"))
_RBAC = "rbac.authorization.k8s.io"
_HOLDINGS = (
    *READS,
    *crds.READS,
    Rule("list", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    Rule("list", "admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    Rule("list", "storage.k8s.io", "storageclasses"),
    Rule("list", "", "services"),
    *(Rule("list", "", plural, HOMES) for plural in ("configmaps", "serviceaccounts")),
    *(Rule("list", _RBAC, plural) for plural in ("clusterrolebindings", "clusterroles")),
    *(Rule("list", _RBAC, plural, HOMES) for plural in ("rolebindings", "roles")),
    Rule("get", "", "configmaps", APPLIED_OBJECTS.namespace),
    Rule("get", "", "secrets", BACKENDS),
)
"""The kinds that every profile holds."""
_HELD_BY_OWNER = {
    "caching.internal.knative.dev": ("images",),
    "cert-manager.io": ("certificates", "clusterissuers", "issuers"),
    "kubeflow.org": ("profiles",),
    "metacontroller.k8s.io": ("compositecontrollers", "decoratorcontrollers"),
    "networking.internal.knative.dev": ("certificates",),
    "networking.istio.io": ("destinationrules", "envoyfilters", "gateways", "sidecars", "virtualservices"),
    "security.istio.io": ("authorizationpolicies", "peerauthentications", "requestauthentications"),
    "serving.kserve.io": ("clusterservingruntimes", "clusterstoragecontainers", "llminferenceserviceconfigs"),
    "trainer.kubeflow.org": ("clustertrainingruntimes",),
}
"""By group, the kinds with a CRD of which manifests of releases hold objects."""
_ISTIO = "virtualservices.networking.istio.io"
_HELD_WITH_ISTIO = (
    Rule("list", "autoscaling", "horizontalpodautoscalers"),
    Rule("list", "networking.k8s.io", "networkpolicies"),
    Rule("list", "policy", "poddisruptionbudgets"),
    Rule("list", "scheduling.k8s.io", "priorityclasses"),
    Rule("list", "", "persistentvolumeclaims"),
    Rule("get", "", "secrets", HOMES),
    *(Rule("list", _RBAC, plural, "kube-system") for plural in ("rolebindings", "roles")),
    Rule("list", "", "configmaps", "default"),
)
"""Of Kubernetes' own kinds, those that only a whole platform holds; none is without Istio."""
_HOLDINGS_WITH = (
    *(
        (f"{plural}.{group}", Rule("list", group, plural))
        for group, plurals in _HELD_BY_OWNER.items()
        for plural in plurals
    ),
    *((_ISTIO, rule) for rule in _HELD_WITH_ISTIO),
)


def _of_kind(facts: Facts, check_id: str, kind: str, expected: str) -> Outcome:
    facts.demand("window")
    looked_at = [Ref.of(item) for item in judged(facts, workloads.RESOURCE_OF_KIND[kind])]
    found = [item for item in workloads.troubled(facts) if item.check == check_id]
    claim = f"{len(looked_at)} of kind {kind} are as asked for.{simulation.of_workloads(facts, looked_at)}"
    return verdict(found, looked_at, claim=claim, expected=expected)


@lru_cache(maxsize=2)
def _looked_at(facts: Facts) -> tuple[tuple[Ref, ...], int, int]:
    """Pods that are judged, how many of them are simulated, and how many wait for their gang instead."""
    refs = tuple(Ref.of(item) for item in judged(facts, "pods") if not pods.waits_for_gang(item))
    simulated = len({Ref.of(item) for item in facts.simulated_pods}.intersection(refs))
    return refs, simulated, sum(pods.waits_for_gang(item) for item in judged(facts, "pods"))


def _of_pods(facts: Facts, check_id: str, claim: str, expected: str) -> Outcome:
    facts.demand("window")
    looked_at, simulated, waiting = _looked_at(facts)
    told = f" {simulated} of them are simulated." if simulated else ""
    told += f" {waiting} members of gangs wait for their group and are not counted." if waiting else ""
    found = [item for item in pods.troubled(facts) if item.check == check_id]
    owners = [item.check for item in pods.troubled(facts) if item.check != check_id and item.status is Status.FAIL]
    told += f" {len(owners)} more are told by {', '.join(sorted(set(owners)))}." if owners else ""
    claim = f"{len(looked_at) - len(owners)} pods {claim}.{told}"
    return verdict(found, looked_at, claim=claim, expected=expected)


@check("C1", "inventory-complete", severity=Severity.MAJOR, needs=_HOLDINGS, needs_with=_HOLDINGS_WITH)
def inventory_complete(facts: Facts) -> Outcome:
    """Every object of the release's manifests exists.

    The list comes from the manifests themselves (a validation by inventory, or `--expected objects.json`, which
    `playbooks/plan.yml` writes), else from what the roll-out wrote down on the cluster, else from the catalog; the
    finding says which. Only names are read. Apply the release again: what is there stays as it is.
    """
    return holdings_verdict(facts)


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
    node by C8. Pods of users' training jobs are a warning there as here: the jobs may be at fault.
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


@check("C9", "services-backed", severity=Severity.MAJOR, needs=services.READS)
def services_backed(facts: Facts) -> Outcome:
    """Every Service with a selector has a ready endpoint on each of its ports.

    A Service that selects no pod, or whose port no container listens on, refuses every connection while its pods look
    well. Compare its selector with the labels of the pods, and its targetPort with their ports.
    """
    looked_at = [Ref.of(item) for item in services.with_selector(facts)]
    claim = f"{len(looked_at)} Services are backed, or belong to what is scaled to zero or has ended."
    expected = "a ready endpoint for each port, from pods that the selector names"
    return verdict(services.troubled(facts), looked_at, claim=claim, expected=expected)


@check(
    "C10",
    "no-warning-events",
    severity=Severity.MINOR,
    needs=(*services.READS, Rule("list", "", "events", HOMES), Rule("list", "", "persistentvolumeclaims")),
)
def no_warning_events(facts: Facts) -> Outcome:
    """No Warning event of the last 15 min about an object of the release still stands.

    Kubernetes writes what goes wrong by itself into events, and forgets them after an hour. Those about objects that
    are gone, or became well after the event, and about users' jobs are counted and not held against the cluster, as are
    single probes of a pod that stayed ready.
    """
    return events_verdict(facts)


CHECKS = (
    inventory_complete,
    deployments,
    stateful_sets,
    daemon_sets,
    jobs,
    pods_ready,
    no_restart_loop,
    pods_placed,
    services_backed,
    no_warning_events,
)
