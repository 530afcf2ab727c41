"""Workloads: which Deployments, StatefulSets, DaemonSets and Jobs are not healthy, and whether a pod is the cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from kubeflow_volcano.catalog.symptoms.logs import last_words
from kubeflow_volcano.catalog.symptoms.read import ANYWHERE, recognise
from kubeflow_volcano.cluster.admission.pod_security import ENFORCE, needed_level, violated
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness, State, assess
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Cause, Status
from kubeflow_volcano.validators.core.resources import DAEMON_SETS, DEPLOYMENTS, JOBS, PODS, STATEFUL_SETS
from kubeflow_volcano.validators.subjects import pods
from kubeflow_volcano.validators.subjects.gang.leases import abandoned
from kubeflow_volcano.validators.subjects.interception import in_the_way, named_in
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged
from kubeflow_volcano.validators.subjects.outages import nodes_of
from kubeflow_volcano.validators.subjects.ownership import as_owned, workload_of

RESOURCE_OF_KIND = {item.kind: item for item in (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, JOBS)}
_CHECK_OF_KIND = {"Deployment": "C2", "StatefulSet": "C3", "DaemonSet": "C4", "Job": "C5"}

# The check that reports a missing or scaled down workload of this component, instead of the check of its kind.
_SPEAKER = {"volcano": "F1", "scheduler-plugins": "F1", "local-path": "D2"}

READS: tuple[Read, ...] = (*RESOURCE_OF_KIND.values(), *pods.READS)
"""What `issues` reads."""


@lru_cache(maxsize=4)
def issues(facts: Facts) -> tuple[Issue, ...]:
    """Every judged workload that is not healthy, and every expected one that is missing, by name."""
    causes: dict[Ref, list[Issue]] = {}
    for issue in pods.issues(facts):
        pod = facts.get(PODS, issue.ref.namespace, issue.ref.name)
        if pod and (owner := workload_of(pod)):
            causes.setdefault(owner, []).append(issue)
    live = {Ref.of(item): item for resource in RESOURCE_OF_KIND.values() for item in judged(facts, resource)}
    issues = [_issue(item, causes.get(ref, ()), facts) for ref, item in live.items()]
    expected = facts.expectations.workloads
    absent = [_absent(ref, facts) for ref in expected if ref not in live and not _has_served(ref, live, facts)]
    return tuple(sorted((item for item in [*issues, *absent] if item), key=lambda item: item.ref))


def _has_served(ref: Ref, live: Mapping[Ref, Object], facts: Facts) -> bool:
    """Whether a Job of the release that is gone has done its work: everything else of its component is available.

    Kubernetes removes Jobs that have ended (ttlSecondsAfterFinished), and so do people. Volcano's admission cannot
    start without the Secret that volcano-admission-init makes: its Deployment mounts it (v1.8.0 to v1.15.1).
    """
    expected = facts.expectations.workloads
    others = [item for item, component in expected.items() if component == expected[ref] and item.kind != "Job"]
    return ref.kind == "Job" and bool(others) and all(item in live and assess(live[item]).ready for item in others)


def _absent(ref: Ref, facts: Facts) -> Issue:
    component = facts.expectations.workloads[ref]
    message = f"{ref} of component {component} does not exist."
    check = _CHECK_OF_KIND[ref.kind]
    return _spoken_for(Issue(check, Status.FAIL, ref, "Missing", message, f"install component {component}."), facts)


def _standing_by(issue: Issue, facts: Facts) -> Issue | None:
    """A workload that is up and does nothing, because the leader that it waits for is gone."""
    if not (lease := abandoned(facts, issue.ref)):
        return None
    held = replace(
        issue,
        reason="LeaseHeld",
        message=f"{issue.ref} is up and does nothing: {lease.found}.",
        todo="free the Lease: a replica takes it within seconds. A restart does not help.",
        changes=(lease.change,),
    )
    return _spoken_for(held, facts)


def _spoken_for(issue: Issue, facts: Facts) -> Issue:
    speaker = _SPEAKER.get(facts.expectations.workloads.get(issue.ref, ""))
    return replace(issue, because=(speaker,)) if speaker else issue


def _issue(obj: Object, causes: Sequence[Issue], facts: Facts) -> Issue | None:
    ref = Ref.of(obj)
    state = assess(obj)
    expected = ref in facts.expectations.workloads
    issue = Issue(_CHECK_OF_KIND[ref.kind], Status.FAIL, ref, state.reason, state.message, "")
    if state.state is State.READY:
        return _standing_by(issue, facts)
    if state.state is State.SKIP:
        return _not_asked_for(issue, facts) if expected else _no_nodes(issue, obj, facts)
    if ref.kind == "Job":
        return _job(obj, issue, causes, facts)
    issue = _refused(replace(issue, todo="see its events and its pods."))
    if not causes or _short_of_more(obj, causes):
        return as_owned(replace(issue, because=_without_pods(ref, state, facts)), obj, facts)
    worst = [item for item in causes if item.status is Status.FAIL] or causes
    because = tuple(dict.fromkeys(item.check for item in worst))
    message = f"{state.message} {worst[0].message}"
    return replace(issue, status=worst[0].status, gravity=worst[0].gravity, message=message, because=because)


def _refused(issue: Issue) -> Issue:
    """The issue with what to change where its message says who refuses the pods."""
    if not violated(issue.message):
        known = recognise(issue.message, "condition")
        return replace(issue, todo=known.todo, looks=known.looks[0]) if known else issue
    needed = needed_level(issue.message)
    command = f"kubectl label namespace {issue.ref.namespace} {ENFORCE}={needed} --overwrite"
    todo = f"set {ENFORCE} of the namespace to {needed}, or a securityContext for the pods (kubeflow_patches)."
    return replace(issue, todo=todo, changes=(command,))


def _short_of_more(obj: Object, causes: Sequence[Issue]) -> bool:
    """Whether a DaemonSet lacks more pods than those that are no failure, as on a node that nothing needs."""
    status = obj.get("status", {})
    missing = status.get("desiredNumberScheduled", 0) - status.get("numberReady", 0)
    minor = all(item.status is Status.WARN for item in causes)
    return obj["kind"] == "DaemonSet" and minor and missing > len(causes)


def _without_pods(ref: Ref, state: Readiness, facts: Facts) -> tuple[Cause, ...]:
    """Causes where no pod shows one: pods that left with their node, and webhooks that let none be created."""
    own = tuple(pod for pod in facts.all(PODS) if workload_of(pod) == ref)
    refused = named_in(state.message)
    if not refused and state.reason != "ReplicaFailure":  # its message says who refuses
        refused = in_the_way(facts, "v1", "Pod", "pods", ref.namespace)
    causes = nodes_of(own, facts) or (frozenset() if own else refused)
    return (causes,) if causes else ()


def _not_asked_for(issue: Issue, facts: Facts) -> Issue:
    if issue.reason == "ScaledToZero":
        where = f"{issue.ref.kind.lower()}/{issue.ref.name}"
        command = f"kubectl -n {issue.ref.namespace} scale {where} --replicas=1"
        issue = replace(issue, todo="scale it up.", changes=(command,))
    else:
        issue = replace(issue, todo="see which nodes its node selector matches.")
    return _spoken_for(issue, facts)


def _no_nodes(issue: Issue, obj: Object, facts: Facts) -> Issue | None:
    if issue.reason != "NoNodes":
        return None
    issue = replace(
        issue,
        status=Status.WARN,
        todo="label the nodes that it is for; where the cluster has none of these, nothing is missing.",
    )
    return as_owned(issue, obj, facts)


def _job(obj: Object, issue: Issue, causes: Sequence[Issue], facts: Facts) -> Issue | None:
    expected = issue.ref in facts.expectations.workloads
    failed = assess(obj).state is State.FAILED
    if not expected and not failed:
        return None  # a user's running Job is not late
    because = () if failed else tuple(dict.fromkeys(item.check for item in causes))
    young = not failed and age(obj, facts) < facts.timing.grace_seconds
    status = Status.FAIL if expected and not young else Status.WARN
    log = _log_of(issue.ref, facts)
    line, of_log = last_words(log)
    known = of_log or recognise(line, ANYWHERE)
    cause = known.todo if known else "read the log of its pod, and correct the cause."
    todo = f"{cause} Then delete the Job and apply it again."
    message = f"{issue.message} Its log says: {line}" if log.strip() else issue.message
    if known:
        message = f"{message.removesuffix('.')}. Cause: {known.cause}."
    issue = replace(issue, status=status, because=because, todo=todo, evidence=log, message=message)
    return as_owned(issue, obj, facts)


def _log_of(job: Ref, facts: Facts) -> str:
    for pod in facts.all(PODS):
        notes = facts.known(pods.POD_NOTES).get(pod["metadata"]["uid"])
        if notes and notes.log and workload_of(pod) == job:
            return notes.log
    return ""
