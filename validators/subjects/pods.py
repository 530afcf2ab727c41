"""Which pods are not well, and why: image (A6), readiness (C6), restarts (C7), not placed (C8)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

from kubeflow_volcano.catalog.gangs import VOLCANO, podgroup_of
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS, State, assess_pod
from validators.core.facts import Fact, Facts, Read
from validators.core.outcome import Status
from validators.core.resources import NAMESPACES, PODS
from validators.core.rights import Rule
from validators.subjects.troubles import Trouble, age, judged

__all__ = [
    "GROUP_NAME",
    "JOB_GROUPS",
    "POD_NOTES",
    "READS",
    "WINDOW",
    "PodNotes",
    "Window",
    "notes",
    "pod_notes",
    "ready_since",
    "trouble",
    "troubled",
    "waits_for_gang",
    "workload_of",
]

_OLD_RESTARTS = 5  # more than this are worth a warning, however long ago (checks.md, C7)
GROUP_NAME = VOLCANO.mark[1]
"""Annotation of a pod: the PodGroup of Volcano that it is a member of."""
JOB_GROUPS = frozenset({"batch.volcano.sh", "kubeflow.org"})
"""API groups whose objects make pods of users' jobs; these tell of the jobs, not of the platform."""

_IMAGE_CLASSES = (
    (r"x509|certificate", "RegistryCertificate", "give the nodes' container runtime the registry's authority."),
    (r"toomanyrequests|\b429\b", "RegistryRateLimit", "pull through a mirror, or log in to the registry."),
    (r"not found|manifest unknown|\b404\b", "ImageMissing", "correct the image's name or tag, or put it there."),
    (r"\b401\b|\b403\b|unauthorized|denied|forbidden", "ImageDenied", "give the service account a pull secret."),
    (
        r"no such host|dial tcp|time(d )?out|connection refused|unreachable",
        "RegistryUnreachable",
        "let the nodes reach the registry: a mirror or a proxy.",
    ),
)
_PLACEMENT_CLASSES = (
    (r"unbound|persistentvolumeclaim", "UnboundClaim", "look at the claim first."),
    (r"Insufficient|NotEnoughResources", "Insufficient", "free or add what is named."),
    (r"affinity|selector", "Affinity", "label a node as the pod asks, or change what it asks for."),
    # Behind the others: the taints of a control plane stand in every message, and are meant to keep pods away.
    (r"taint", "Taints", "tolerate the taint or untaint a node."),
    (r"gated", "Gated", "see who removes the pod's scheduling gates."),
)

_TODO_CRASH = "read the log of the previous container."
_TODO_MEMORY = "raise the container's memory limit, or find what it keeps."
_PLACEMENT_CAUSES = {"UnboundClaim": ("D3",), "Insufficient": ("A4",)}

_MOST_NOTED = 20
_LOG_LINES = 40


@dataclass(frozen=True, slots=True)
class Window:
    """What a watch over the pods saw in `seconds`: turns from Ready to not Ready, and new container restarts."""

    seconds: float
    flapped: Mapping[Ref, int] = field(default_factory=dict)
    restarted: Mapping[Ref, int] = field(default_factory=dict)


def _unwatched(_cluster: Cluster, _facts: Facts) -> None:
    """Nothing can be seen of a time that is over: the collector watches pods before it takes the snapshot."""


WINDOW = Fact[Window | None]("window", _unwatched, None, reads=(PODS,), needs=(Rule("watch", "", "pods"),))
"""What a watch over all pods saw before the snapshot was taken."""


@dataclass(frozen=True, slots=True)
class PodNotes:
    """What else is known of a pod that is not well: its Warning events, newest last, and the end of its log."""

    events: tuple[str, ...] = ()
    log: str = ""


def pod_notes(cluster: Cluster, facts: Facts) -> Mapping[str, PodNotes]:
    """By uid, Warning events of pods that are not well, and the end of the log of those that crashed or failed."""
    sick = [pod for pod in judged(facts, PODS) if not assess_pod(pod).ready and not waits_for_gang(pod)]
    return {pod["metadata"]["uid"]: notes(cluster, pod) for pod in sick[:_MOST_NOTED]}


def notes(cluster: Cluster, pod: Object) -> PodNotes:
    """Of one pod. It only enriches a message: an answer that does not come is left out."""
    meta = pod["metadata"]
    selector = f"involvedObject.uid={meta['uid']},type=Warning"
    events: tuple[Object, ...] = ()
    log = ""
    with contextlib.suppress(ApiError):
        events = cluster.list("v1", "Event", namespace=meta["namespace"], fields=selector).items
    with contextlib.suppress(ApiError):
        log = _log(cluster, pod)
    ordered = sorted(events, key=lambda item: item.get("lastTimestamp") or item.get("eventTime") or "")
    return PodNotes(tuple(dict.fromkeys(str(item.get("message", "")) for item in ordered)), log)


def _log(cluster: Cluster, pod: Object) -> str:
    """End of the log of the first container that crashed or failed; empty where none did."""
    meta, status = pod["metadata"], pod.get("status", {})
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        ended = item.get("state", {}).get("terminated") or {}
        previous = not ended and bool(item.get("restartCount"))
        if previous or ended.get("exitCode"):
            return cluster.logs(meta["namespace"], meta["name"], item["name"], previous=previous, tail=_LOG_LINES)
    return ""


POD_NOTES = Fact[Mapping[str, PodNotes]]("pod-notes", pod_notes, {}, reads=(PODS, NAMESPACES), enriches=True)
"""What else is known of pods that are not ready, by their uid."""

READS: tuple[Read, ...] = (PODS, NAMESPACES, POD_NOTES)
"""What `troubled` reads, but for the window, without which it knows of no turns."""


@lru_cache(maxsize=4)
def troubled(facts: Facts) -> tuple[Trouble, ...]:
    """Every judged pod that is not well, in order of its name."""
    found = (trouble(pod, facts) for pod in judged(facts, PODS))
    return tuple(sorted((item for item in found if item), key=lambda item: item.ref))


@lru_cache(maxsize=4)
def _served(facts: Facts) -> frozenset[Ref | None]:
    """Workloads that have a ready pod."""
    ready = (workload_of(pod) for pod in facts.all(PODS) if assess_pod(pod).state is State.READY)
    return frozenset(workload for workload in ready if workload)


def waits_for_gang(pod: Object) -> bool:
    """Whether the pod is a gang's member that is not placed; waiting is what a gang is for."""
    return bool(podgroup_of(pod)) and not pod["spec"].get("nodeName")


def ready_since(pod: Object) -> float | None:
    """When the pod's condition Ready turned last, in seconds since the epoch; None where it never did."""
    since = conditions(pod).get("Ready", {}).get("lastTransitionTime")
    return datetime.fromisoformat(since).timestamp() if since else None


def workload_of(pod: Object) -> Ref | None:
    """The workload that made the pod; a ReplicaSet is named after its Deployment and the hash of its template."""
    owner = next((item for item in pod["metadata"].get("ownerReferences") or () if item.get("controller")), None)
    if owner is None:
        return None
    namespace: str = pod["metadata"]["namespace"]
    if owner["kind"] == "ReplicaSet":
        suffix = "-" + (pod["metadata"].get("labels") or {}).get("pod-template-hash", "")
        return Ref(owner["apiVersion"], "Deployment", namespace, owner["name"].removesuffix(suffix))
    return Ref(owner["apiVersion"], owner["kind"], namespace, owner["name"])


def trouble(pod: Object, facts: Facts) -> Trouble | None:
    """What is wrong with a pod; None where nothing is, or its gang waits as a whole."""
    if waits_for_gang(pod):
        return None
    state = assess_pod(pod)
    ref = Ref.of(pod)
    noted = facts.known(POD_NOTES).get(pod["metadata"]["uid"], PodNotes())
    if state.state is State.FAILED:
        found = _failed(pod, Trouble("C6", Status.FAIL, ref, state.reason, state.message, ""), noted, facts)
    elif state.state is State.WAIT:
        found = _waiting(pod, Trouble("C6", Status.FAIL, ref, state.reason, state.message, ""), noted, facts)
    elif state.state is State.READY:
        found = _ready(pod, ref, facts)
    else:
        found = None
    if found and found.check == "C7":
        found = replace(found, because=_restart_causes(workload_of(pod), facts))
    workload = workload_of(pod)
    if found and workload and workload.group in JOB_GROUPS:
        found = replace(found, status=Status.WARN)
    return replace(found, evidence=noted.log) if found else None


def _restart_causes(workload: Ref | None, facts: Facts) -> tuple[str, ...]:
    """Checks that know why a workload of that kind does not stay up."""
    if workload == OPERATOR:
        return ("G1",)  # an argument of another era ends the operator at its start
    # A panic's last words are a stack; F7 finds the first.
    return ("F7",) if workload and facts.expectations.workloads.get(workload) == "volcano" else ()


def _failed(pod: Object, found: Trouble, noted: PodNotes, facts: Facts) -> Trouble | None:
    if pod["status"].get("phase") == "Failed":
        return _ended(pod, found, facts)
    if found.reason in BAD_IMAGE_REASONS:
        # While it backs off, only the events still say why.
        pulls = [item for item in noted.events if "Failed to pull" in item] if "Back-off" in found.message else []
        text = " ".join([found.message, *pulls[-1:]])
        reason, todo = _class_of(text, _IMAGE_CLASSES, (found.reason, "correct the image or the container's settings."))
        return replace(found, check="A6", reason=reason, todo=todo, message=text)
    if found.reason == "OOMKilled":
        return replace(found, check="C7", todo=_TODO_MEMORY)
    last = noted.log.strip().rpartition("\n")[2]
    told = f" Its last words: {last}" if last else ""
    return replace(found, check="C7", message=found.message + told, todo=_TODO_CRASH)


def _ended(pod: Object, found: Trouble, facts: Facts) -> Trouble | None:
    """A pod in phase Failed: its Job answers for it (C5), a newer ready pod makes up for it, else it counts."""
    workload = workload_of(pod)
    if workload and workload.kind == "Job":
        return None
    replaced = workload in _served(facts)
    ours = found.ref.namespace in facts.expectations.namespaces
    status = Status.FAIL if ours and not replaced else Status.WARN
    todo = f"delete the pod{'; its replacement is ready' if replaced else ' when it has been looked at'}."
    return replace(found, status=status, todo=todo)


def _waiting(pod: Object, found: Trouble, noted: PodNotes, facts: Facts) -> Trouble:
    young = age(pod, facts) < facts.timing.grace_seconds
    status = Status.WARN if young else Status.FAIL
    seconds = f" Created {age(pod, facts):.0f} s ago."
    if conditions(pod).get("PodScheduled", {}).get("status") == "False":
        reason, todo = _class_of(found.message, _PLACEMENT_CLASSES, ("Unschedulable", "read the scheduler's message."))
        because = _PLACEMENT_CAUSES.get(reason, ())
        return replace(
            found,
            check="C8",
            status=status,
            reason=reason,
            todo=todo,
            because=because,
            message=found.message + seconds,
        )
    if not pod["spec"].get("nodeName"):
        scheduler = pod["spec"].get("schedulerName", "default-scheduler")
        message = f"{found.ref} was not looked at by its scheduler, {scheduler}.{seconds}"
        todo = f"see that {scheduler} runs."
        because = ("F1",) if scheduler == facts.expectations.gang.scheduler else ()
        return replace(
            found, check="C8", status=status, reason="NotJudged", message=message, todo=todo, because=because
        )
    if flapping := _flapping(found.ref, facts):
        return flapping
    told = f" {noted.events[-1]}" if noted.events else ""
    todo = "see which container is not ready and why."
    return replace(found, status=status, message=found.message + seconds + told, todo=todo)


def _ready(pod: Object, ref: Ref, facts: Facts) -> Trouble | None:
    window = facts.known(WINDOW)
    if window and (rise := window.restarted.get(ref)):
        end = _last_end(pod)
        told = f"; the last ended with {end.get('reason', 'Error')}, exit code {end.get('exitCode')}" if end else ""
        message = f"{ref} restarted {rise} containers within {window.seconds:.0f} s{told}."
        memory = end.get("reason") == "OOMKilled"
        reason, todo = ("OOMKilled", _TODO_MEMORY) if memory else ("Restarting", _TODO_CRASH)
        return Trouble("C7", Status.FAIL, ref, reason, message, todo)
    if flapping := _flapping(ref, facts):
        return flapping
    old = sum(item.get("restartCount", 0) for item in pod["status"].get("containerStatuses") or ())
    if old > _OLD_RESTARTS:
        message = f"{ref} is ready, but its containers were restarted {old} times before."
        return Trouble("C7", Status.WARN, ref, "OldRestarts", message, _TODO_CRASH)
    return None


def _last_end(pod: Object) -> Object:
    """How the container that was started anew last had ended; empty where none was."""
    states = (item.get("lastState") or {} for item in pod["status"].get("containerStatuses") or ())
    ends = [state["terminated"] for state in states if "terminated" in state]
    return max(ends, key=lambda end: str(end.get("finishedAt", "")), default={})


def _flapping(ref: Ref, facts: Facts) -> Trouble | None:
    """A pod that turned within the window, whether the moment of reading found it ready or not."""
    window = facts.known(WINDOW)
    turns = window.flapped.get(ref) if window else None
    if not (window and turns):
        return None
    message = f"{ref} turned from Ready to not Ready {turns} times within {window.seconds:.0f} s."
    return Trouble("C6", Status.FAIL, ref, "Flapping", message, "read its log and its readiness probe.")


def _class_of(text: str, classes: tuple[tuple[str, str, str], ...], other: tuple[str, str]) -> tuple[str, str]:
    for pattern, reason, todo in classes:
        if re.search(pattern, text, re.IGNORECASE):
            return reason, todo
    return other
