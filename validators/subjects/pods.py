"""Pods: which of them are not healthy, and why: image (A6), readiness (C6), restarts (C7), unscheduled (C8)."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial

from kubeflow_volcano.catalog.gangs import VOLCANO, podgroup_of
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.catalog.symptoms.logs import last_words
from kubeflow_volcano.catalog.symptoms.read import ANYWHERE, Symptom, recognise
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS, State, assess_pod
from kubeflow_volcano.experiment.volumes import served_claim
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Fact, Facts, Read
from kubeflow_volcano.validators.core.outcome import Cause, Status
from kubeflow_volcano.validators.core.resources import NAMESPACES, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.subjects import ownership
from kubeflow_volcano.validators.subjects.finalizers import Terminating, describe
from kubeflow_volcano.validators.subjects.finalizers import todo as finalizing
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged
from kubeflow_volcano.validators.subjects.outages import nodes_of, taints_in
from kubeflow_volcano.validators.subjects.ownership import as_owned, workload_of
from kubeflow_volcano.validators.subjects.renewal import missing

_OLD_RESTARTS = 5  # more than this are worth a warning, however long ago (checks.md, C7)
GROUP_NAME = VOLCANO.mark[-1]
"""Annotation of a pod: the PodGroup of Volcano that it is a member of."""
JOB_GROUPS = frozenset({"batch.volcano.sh", "kubeflow.org"})
"""API groups of users' jobs. Their pods show the state of the jobs, not of the platform."""

_NO_SECRET = re.compile(r'secret "(\S+)" not found')
_TODO_UNKNOWN = "do what the message says; no cause is known of it here."
_TODO_CRASH = "read the log of the previous container."
_PLACEMENT_CAUSES: Mapping[str, tuple[Cause, ...]] = {"UnboundClaim": ("D3",), "Insufficient": ("A4",)}

_MOST_NOTED = 20
_LOG_LINES = 200
"""The line that says why stands before the stacks of all goroutines of a program that gives up."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a watch over all pods saw in `seconds`: changes from Ready to not Ready, and new container restarts."""

    seconds: float
    flapped: Mapping[Ref, int] = field(default_factory=dict)
    restarted: Mapping[Ref, int] = field(default_factory=dict)


def _unwatched(_cluster: Cluster, _facts: Facts) -> None:
    """The collector watches pods before it takes the snapshot; there is nothing to fetch afterwards."""


WINDOW = Fact[Window | None]("window", _unwatched, None, reads=(PODS,), needs=(Rule("watch", "", "pods"),))
"""What a watch over all pods saw before the snapshot."""


@dataclass(frozen=True, slots=True)
class PodNotes:
    """Details of an unhealthy pod: its Warning events, newest last, and the end of its log.

    `pulling` is the news that its node pulls an image, where nothing has come after it, and `since` when that began.
    """

    events: tuple[str, ...] = ()
    log: str = ""
    pulling: str = ""
    since: str = ""


def pod_notes(cluster: Cluster, facts: Facts) -> Mapping[str, PodNotes]:
    """By uid, Warning events of unhealthy pods, and the end of the log of those that crashed or failed."""
    sick = [pod for pod in judged(facts, PODS) if not assess_pod(pod).ready and not waits_for_gang(pod)]
    return {pod["metadata"]["uid"]: notes(cluster, pod) for pod in sick[:_MOST_NOTED]}


def notes(cluster: Cluster, pod: Object) -> PodNotes:
    """Of one pod. They only add detail to a message: what cannot be read is left out."""
    meta = pod["metadata"]
    events: tuple[Object, ...] = ()
    log = ""
    with contextlib.suppress(ApiError):
        about = f"involvedObject.uid={meta['uid']}"
        events = cluster.list("v1", "Event", namespace=meta["namespace"], fields=about).items
    with contextlib.suppress(ApiError):
        log = _log(cluster, pod)
    ordered = sorted(events, key=_last_seen)
    warnings = dict.fromkeys(str(item.get("message", "")) for item in ordered if item.get("type") == "Warning")
    if ordered and ordered[-1].get("reason") == "Pulling":
        return PodNotes(tuple(warnings), log, str(ordered[-1].get("message", "")), _last_seen(ordered[-1]))
    return PodNotes(tuple(warnings), log)


def _last_seen(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _log(cluster: Cluster, pod: Object) -> str:
    """End of the log of the first container that crashed or failed; empty if none did."""
    meta, status = pod["metadata"], pod.get("status", {})
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        ended = item.get("state", {}).get("terminated") or {}
        previous = not ended and bool(item.get("restartCount"))
        if previous or ended.get("exitCode"):
            return cluster.logs(meta["namespace"], meta["name"], item["name"], previous=previous, tail=_LOG_LINES)
    return ""


POD_NOTES = Fact[Mapping[str, PodNotes]]("notes on pods", pod_notes, {}, reads=(PODS, NAMESPACES), enriches=True)
"""Details of pods that are not ready, by uid."""

READS: tuple[Read, ...] = (PODS, *ownership.READS, POD_NOTES)
"""What `issues` reads, except for the window, without which it reports no flapping and no restarts."""


@lru_cache(maxsize=4)
def issues(facts: Facts) -> tuple[Issue, ...]:
    """Every judged pod that is not healthy, by name."""
    issues = (issue(pod, facts) for pod in judged(facts, PODS))
    return tuple(sorted((item for item in issues if item), key=lambda item: item.ref))


@lru_cache(maxsize=4)
def _served(facts: Facts) -> frozenset[Ref | None]:
    """Workloads that have a ready pod."""
    ready = (workload_of(pod) for pod in facts.all(PODS) if assess_pod(pod).state is State.READY)
    return frozenset(workload for workload in ready if workload)


def waits_for_gang(pod: Object) -> bool:
    """Whether the pod is an unscheduled member of a gang, which waits on purpose."""
    return bool(podgroup_of(pod)) and not pod["spec"].get("nodeName")


def ready_since(pod: Object) -> float | None:
    """Time of the last change of the condition Ready in seconds since the epoch; None if it never changed."""
    since = conditions(pod).get("Ready", {}).get("lastTransitionTime")
    return datetime.fromisoformat(since).timestamp() if since else None


def issue(pod: Object, facts: Facts) -> Issue | None:
    """What is wrong with a pod and whose it is; None where nothing is wrong, or its gang waits as a whole."""
    issue = fault(pod, facts)
    return as_owned(issue, pod, facts) if issue else None


def fault(pod: Object, facts: Facts) -> Issue | None:
    """What is wrong with a pod, without its owner; None where nothing is, or its gang waits as a whole."""
    if waits_for_gang(pod):
        return None
    state = assess_pod(pod)
    ref = Ref.of(pod)
    noted = facts.known(POD_NOTES).get(pod["metadata"]["uid"], PodNotes())
    if state.state is State.FAILED:
        issue = _failed(pod, Issue("C6", Status.FAIL, ref, state.reason, state.message, ""), noted, facts)
    elif state.state is State.WAIT:
        issue = _waiting(pod, Issue("C6", Status.FAIL, ref, state.reason, state.message, ""), noted, facts)
    elif state.state is State.READY:
        issue = _ready(pod, ref, facts)
    else:
        issue = _lingering(pod, ref, facts)
    if issue is None:
        return None
    workload = workload_of(pod)
    if issue.check == "C7":
        issue = replace(issue, because=_restart_causes(workload, facts))
    if issue.check == "C6" and (down := nodes_of((pod,), facts)):
        # A DaemonSet's pod is lost with its node, and A4 says whether anything needs that node.
        bound = workload is not None and workload.kind == "DaemonSet"
        issue = replace(issue, because=(down,), status=Status.WARN if bound else issue.status)
    if workload and workload.group in JOB_GROUPS:
        issue = replace(issue, status=Status.WARN)
    return replace(issue, evidence=noted.log)


def _restart_causes(workload: Ref | None, facts: Facts) -> tuple[str, ...]:
    """Ids of the checks that report why such a workload does not stay up."""
    if workload == OPERATOR:
        return ("G1",)  # the operator exits at its start with an argument of another version
    # A panic ends in a stack trace; F7 finds its first line.
    return ("F7",) if workload and facts.expectations.workloads.get(workload) == "volcano" else ()


def _lingering(pod: Object, ref: Ref, facts: Facts) -> Issue | None:
    """A pod that is not gone a while after it had to end: what holds it, or the kubelet that does not end it."""
    deleted = pod["metadata"].get("deletionTimestamp")
    seconds = facts.taken - datetime.fromisoformat(deleted).timestamp() if deleted else 0.0
    if seconds <= facts.timing.stuck_seconds:
        return None
    message = f"{ref} should have been gone {seconds:.0f} s ago"
    issue = partial(Issue, "C6", Status.WARN, ref)
    if held := Terminating.of(pod).finalizers:
        return issue("HeldByFinalizer", f"{message}: held by {describe(held, facts)}.", finalizing(held, facts))
    node = pod["spec"].get("nodeName")
    if not node:
        return None
    todo = f"see what the kubelet of node {node} says of it, such as a volume that cannot be unmounted."
    return issue("NotEnded", f"{message}, and the kubelet of node {node} has not ended it.", todo)


def _failed(pod: Object, issue: Issue, noted: PodNotes, facts: Facts) -> Issue | None:
    if pod["status"].get("phase") == "Failed":
        return _ended(pod, issue, facts)
    if issue.reason in BAD_IMAGE_REASONS:
        # During the backoff only the events still show the cause.
        pulls = [item for item in noted.events if "Failed to pull" in item] if "Back-off" in issue.message else []
        text = " ".join([issue.message, *pulls[-1:]])
        seen = "create" if issue.reason == "CreateContainerError" else "pull"
        return _recognised(replace(issue, check="A6", todo=_TODO_UNKNOWN), text, seen, pod)
    issue = replace(issue, check="C7", todo=_TODO_CRASH)
    line, of_log = last_words(noted.log)
    symptom = of_log or recognise(issue.message, "exit") or recognise(line, ANYWHERE)
    text = f"{issue.message} Its log says: {line}" if line else issue.message
    # The kubelet's word for how a container ends stays the reason: others are compared with it.
    return _explained(replace(issue, message=text), symptom, pod, reason=issue.reason)


def _recognised(issue: Issue, text: str, seen: str, pod: Object) -> Issue:
    """The issue with the cause and the remedy of the symptom in the text, as far as it is known."""
    symptom = recognise(text, seen)
    inner = recognise(text, "pull") if symptom and symptom.reason == "SandboxImage" else None
    return _explained(replace(issue, message=text), symptom, pod, more=f" Cause: {inner.cause}." if inner else "")


def _explained(issue: Issue, symptom: Symptom | None, pod: Object, *, reason: str = "", more: str = "") -> Issue:
    """The issue with cause, remedy and commands of the symptom; as it is without one."""
    if symptom is None:
        return issue
    return replace(
        issue,
        reason=reason or symptom.reason,
        message=f"{issue.message}{'' if issue.message.endswith('.') else '.'} Cause: {symptom.cause}.{more}",
        todo=symptom.todo,
        looks=symptom.commands_at(pod["spec"].get("nodeName", "")),
    )


def _ended(pod: Object, issue: Issue, facts: Facts) -> Issue | None:
    """A pod in phase Failed: its Job reports it (C5), a newer ready pod replaces it, else it counts.

    A provisioner's pod for a volume has done what it could: whether volumes are made now is judged by trying.
    """
    workload = workload_of(pod)
    if workload and workload.kind == "Job":
        return None
    if served_claim(pod):
        todo = (
            "see why the provisioner could not make or remove the volume (D3, D5); it deletes the pod within minutes."
        )
        return replace(issue, status=Status.WARN, todo=todo)
    replaced = workload in _served(facts)
    ours = issue.ref.namespace in facts.expectations.namespaces
    status = Status.FAIL if ours and not replaced else Status.WARN
    todo = f"delete the pod{': its replacement is ready' if replaced else ' once you know why it failed'}."
    return replace(issue, status=status, todo=todo)


def _waiting(pod: Object, issue: Issue, noted: PodNotes, facts: Facts) -> Issue:
    young = age(pod, facts) < facts.timing.grace_seconds
    status = Status.WARN if young else Status.FAIL
    seconds = f" Created {age(pod, facts):.0f} s ago."
    if conditions(pod).get("PodScheduled", {}).get("status") == "False":
        symptom = recognise(issue.message, "scheduler")
        reason = symptom.reason if symptom else "Unschedulable"
        because = _PLACEMENT_CAUSES.get(reason, ())
        if lost := taints_in(issue.message):
            because = (lost,)  # whatever else the message names, such nodes take no pod
        return replace(
            issue,
            check="C8",
            status=status,
            reason=reason,
            todo=symptom.todo if symptom else "read the message of the scheduler.",
            because=because,
            message=issue.message + seconds,
            looks=symptom.looks[0] if symptom else (),
        )
    if not pod["spec"].get("nodeName"):
        scheduler = pod["spec"].get("schedulerName", "default-scheduler")
        message = f"{issue.ref} has not been evaluated by its scheduler, {scheduler}.{seconds}"
        todo = f"see whether {scheduler} is running."
        because = ("F1",) if scheduler == facts.expectations.gang.scheduler else ()
        return replace(
            issue, check="C8", status=status, reason="NotJudged", message=message, todo=todo, because=because
        )
    if flapping := _flapping(issue.ref, facts):
        return flapping
    note = f" {noted.events[-1]}" if noted.events else ""
    issue = replace(issue, status=status, message=issue.message + seconds + note)
    if absent := _NO_SECRET.search(note):
        remedy = missing(Ref("v1", "Secret", issue.ref.namespace, absent[1]), facts)
        return replace(issue, todo=remedy.todo, changes=remedy.changes)
    if noted.pulling:
        return _pulling(issue, noted, pod, facts)
    issue = replace(issue, todo="see which container is not ready and why.")
    seen = next((place for place in ("sandbox", "event") if recognise(issue.message, place)), "event")
    issue = _recognised(issue, issue.message, seen, pod)
    return replace(issue, check="A6") if issue.reason == "SandboxImage" else issue


def _pulling(issue: Issue, noted: PodNotes, pod: Object, facts: Facts) -> Issue:
    """A node that pulls without an end: its container runtime tries again by itself where connections are cut."""
    node, seconds = pod["spec"]["nodeName"], facts.taken - datetime.fromisoformat(noted.since).timestamp()
    note = f" Node {node} has been at it for {seconds:.0f} s: {noted.pulling.rstrip('.')}."
    return replace(
        issue,
        reason="ImagePulling",
        message=issue.message + note,
        todo="wait if the image is large; otherwise read in the log of the container runtime why it begins again: a "
        "connection that is cut again and again is no failed pull to it.",
        looks=(f"ssh {node} {shlex.quote('journalctl -u containerd --since -10min')}",),
    )


def _ready(pod: Object, ref: Ref, facts: Facts) -> Issue | None:
    window = facts.known(WINDOW)
    if window and (rise := window.restarted.get(ref)):
        end = _last_end(pod)
        note = (
            f"; the last container ended with {end.get('reason', 'Error')}, exit code {end.get('exitCode')}"
            if end
            else ""
        )
        message = f"{ref}: {counted(rise, 'container restart')} within {window.seconds:.0f} s{note}."
        symptom = recognise(note, "exit")
        reason, todo = (symptom.reason, symptom.todo) if symptom else ("Restarting", _TODO_CRASH)
        return Issue("C7", Status.FAIL, ref, reason, message, todo)
    if flapping := _flapping(ref, facts):
        return flapping
    old = sum(item.get("restartCount", 0) for item in pod["status"].get("containerStatuses") or ())
    if old > _OLD_RESTARTS:
        message = f"{ref} is ready, but its containers have restarted {old} times."
        return Issue("C7", Status.WARN, ref, "OldRestarts", message, _TODO_CRASH)
    return None


def _last_end(pod: Object) -> Object:
    """How the container that restarted last had ended; empty if none restarted."""
    states = (item.get("lastState") or {} for item in pod["status"].get("containerStatuses") or ())
    ends = [state["terminated"] for state in states if "terminated" in state]
    return max(ends, key=lambda end: str(end.get("finishedAt", "")), default={})


def _flapping(ref: Ref, facts: Facts) -> Issue | None:
    """A pod that became not Ready within the window, whether or not the snapshot shows it ready."""
    window = facts.known(WINDOW)
    turns = window.flapped.get(ref) if window else None
    if not (window and turns):
        return None
    message = f"{ref} changed from Ready to not Ready {counted(turns, 'time')} within {window.seconds:.0f} s."
    return Issue("C6", Status.FAIL, ref, "Flapping", message, "read its log, and check its readiness probe.")
