"""Readiness of objects: a table of pure predicates, one per kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref, conditions, group_of
from kubeflow_volcano.text import counted

BAD_IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerError"}
)
"""Reasons of the kubelet for a container whose image cannot be pulled or used."""

PROGRESS_DEADLINE = "ProgressDeadlineExceeded"
"""Reason of a Deployment's controller: no new replica for progressDeadlineSeconds, by default 600."""
_CREATING = frozenset({"ContainerCreating", "PodInitializing"})

# The controller creates the pod by itself once the webhook answers or the ServiceAccount exists.
_HEALING_REFUSALS = ("failed calling webhook", "error looking up service account")


class State(StrEnum):
    """The four results of a predicate."""

    READY = "ready"
    WAIT = "wait"
    FAILED = "failed"
    """Does not recover by itself."""
    SKIP = "skip"
    """Readiness does not apply: scaled to zero, completed, being deleted, no node selected."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The result for one object: state, a stable CamelCase reason for programs, a sentence with numbers for people."""

    state: State
    reason: str
    message: str

    @property
    def ready(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.state in {State.READY, State.SKIP}


_Answer = tuple[State, str, str]


def assess(obj: Object) -> Readiness:
    """Judge one live object by its own status; an object of a kind without a predicate is ready if it exists."""
    key = (group_of(obj["apiVersion"]), obj["kind"])
    if "deletionTimestamp" in obj["metadata"] and obj["kind"] != "Pod":
        state, reason, message = State.WAIT, "Terminating", "is being deleted"
    else:
        state, reason, message = _PREDICATES.get(key, _exists)(obj)
    return Readiness(state, reason, f"{Ref.of(obj)} {message.rstrip('.')}.")


def assess_pod(pod: Object) -> Readiness:
    """`assess` for a pod of a PodList, whose items may lack apiVersion and kind."""
    return assess(pod if "kind" in pod else {"apiVersion": "v1", "kind": "Pod"} | pod)


def is_being_created(pod: Object) -> bool:
    """Whether the kubelet prepares one of its containers: volumes are mounted, or an image is pulled."""
    return any(status.get("state", {}).get("waiting", {}).get("reason") in _CREATING for _, status in _statuses(pod))


def _exists(_obj: Object) -> _Answer:
    return State.READY, "Exists", "exists"


def _true(condition: Object | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def _stale(obj: Object) -> _Answer | None:
    wanted, seen = obj["metadata"].get("generation", 0), obj.get("status", {}).get("observedGeneration", 0)
    if seen < wanted:
        return State.WAIT, "NotObserved", f"is at generation {wanted}, and its controller has observed {seen}"
    return None


def _deployment(obj: Object) -> _Answer:
    if stale := _stale(obj):
        return stale
    spec, status, by_type = obj["spec"], obj.get("status", {}), conditions(obj)
    wanted = spec.get("replicas", 1)
    if wanted == 0:
        return State.SKIP, "ScaledToZero", "is scaled to 0 replicas"
    if spec.get("paused"):
        return State.FAILED, "Paused", "is paused"
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if updated == wanted == available and not status.get("unavailableReplicas"):
        old = status.get("replicas", 0) - updated
        if old > 0:
            return State.WAIT, "OldReplicas", f"still has {counted(old, 'replica')} of an older revision"
        return State.READY, "Available", f"has {available} of {wanted} replicas available"
    unavailable = status.get("unavailableReplicas", 0)
    numbers = f"{available} of {wanted} replicas available, {updated} updated, {unavailable} unavailable"
    return _not_available(spec, by_type, numbers)


def _not_available(spec: Object, by_type: dict[str, Object], numbers: str) -> _Answer:
    if by_type.get("Progressing", {}).get("reason") == PROGRESS_DEADLINE:
        limit = spec.get("progressDeadlineSeconds", 600)
        return State.FAILED, PROGRESS_DEADLINE, f"made no progress for {limit} s: {numbers}"
    refusal = by_type.get("ReplicaFailure")
    if _true(refusal):
        text = (refusal or {}).get("message", "")
        heals = any(words in text for words in _HEALING_REFUSALS)
        return (
            State.WAIT if heals else State.FAILED,
            "ReplicaFailure",
            f"has {numbers}; the API server rejects its pods: {text}",
        )
    return State.WAIT, "ReplicasNotAvailable", f"has {numbers}"


def _stateful_set(obj: Object) -> _Answer:
    if stale := _stale(obj):
        return stale
    spec, status = obj["spec"], obj.get("status", {})
    wanted, ready, updated = spec.get("replicas", 1), status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    if wanted == 0:
        return State.SKIP, "ScaledToZero", "is scaled to 0 replicas"
    numbers = f"has {ready} of {wanted} replicas ready, {updated} updated"
    if spec.get("updateStrategy", {}).get("type") == "OnDelete":
        updated = wanted  # pods of an older revision stay until they are deleted by hand
    elif status.get("currentRevision") != status.get("updateRevision"):
        return State.WAIT, "RollingUpdate", f"is rolling out a new revision and {numbers}"
    if ready == wanted == updated:
        return State.READY, "Ready", numbers
    return State.WAIT, "ReplicasNotReady", numbers


def _daemon_set(obj: Object) -> _Answer:
    if stale := _stale(obj):
        return stale
    status = obj.get("status", {})
    wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    updated = status.get("updatedNumberScheduled", 0)
    if wanted == 0:
        return State.SKIP, "NoNodes", "selects no node"
    numbers = f"is ready on {ready} of {wanted} nodes, updated on {updated}"
    if obj["spec"].get("updateStrategy", {}).get("type") == "OnDelete":
        updated = wanted
    return (State.READY, "Ready", numbers) if ready == wanted == updated else (State.WAIT, "NodesNotReady", numbers)


def _job(obj: Object) -> _Answer:
    by_type, status = conditions(obj), obj.get("status", {})
    if _true(by_type.get("Complete")):
        return State.READY, "Complete", "is complete"
    if _true(by_type.get("Failed")):
        failed = by_type["Failed"]
        return State.FAILED, failed.get("reason") or "Failed", f"has failed: {failed.get('message', 'no message')}"
    if obj["spec"].get("suspend"):
        return State.WAIT, "Suspended", "is suspended"
    numbers = f"pods: {status.get('active', 0)} active, {status.get('failed', 0)} failed"
    return State.WAIT, "NotComplete", f"is not complete; {numbers}"


def _pod(obj: Object) -> _Answer:
    status, by_type = obj.get("status", {}), conditions(obj)
    phase = status.get("phase", "Pending")
    if "deletionTimestamp" in obj["metadata"]:
        return State.SKIP, "Terminating", "is being deleted"
    if phase == "Succeeded":
        return State.SKIP, "Succeeded", "has succeeded"
    if phase == "Failed":
        return State.FAILED, status.get("reason") or "Failed", f"has failed: {_why_ended(obj)}"
    if trouble := next(_container_troubles(obj), None):
        return trouble
    if phase == "Running" and _true(by_type.get("Ready")):
        return State.READY, "Ready", "is running and ready"
    return _waiting_pod(obj, phase, by_type.get("PodScheduled", {}))


def _waiting_pod(obj: Object, phase: str, scheduled: Object) -> _Answer:
    if scheduled.get("status") == "False":
        text = scheduled.get("message") or scheduled.get("reason") or "no message"
        return State.WAIT, scheduled.get("reason") or "Unschedulable", f"is not scheduled: {text}"
    return State.WAIT, "NotReady", f"is {phase}: {_waiting_for(obj)}"


def _statuses(pod: Object) -> Iterator[tuple[str, Object]]:
    for field, word in (("initContainerStatuses", "init container"), ("containerStatuses", "container")):
        for status in pod.get("status", {}).get(field) or ():
            yield f"{word} {status['name']}", status


def _container_troubles(pod: Object) -> Iterator[_Answer]:
    for where, status in _statuses(pod):
        waiting = status.get("state", {}).get("waiting") or {}
        ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated") or {}
        reason, restarts = waiting.get("reason", ""), status.get("restartCount", 0)
        if reason in BAD_IMAGE_REASONS:
            text = waiting.get("message", "no message")
            yield State.FAILED, reason, f"cannot pull or use image {status.get('image', '')} of {where}: {text}"
        elif ended.get("reason") == "OOMKilled" and not status.get("ready"):
            yield (
                State.FAILED,
                "OOMKilled",
                f"has {where} OOM-killed at its memory limit, {counted(restarts, 'restart')}",
            )
        elif reason == "CrashLoopBackOff":
            code = ended.get("exitCode", "unknown")
            yield (
                State.FAILED,
                reason,
                f"has {where} in CrashLoopBackOff: {counted(restarts, 'restart')}, last exit code {code}",
            )


def _why_ended(pod: Object) -> str:
    ends = [
        f"{where} ended with {end.get('reason', 'Error')}, exit code {end.get('exitCode')}"
        for where, status in _statuses(pod)
        if (end := status.get("state", {}).get("terminated")) and end.get("exitCode")
    ]
    return pod["status"].get("message") or "; ".join(ends) or "no message"


def _waiting_for(pod: Object) -> str:
    reasons = [
        f"{where} is waiting ({waiting.get('reason', 'no reason')}{', ' if waiting.get('message') else ''}"
        f"{waiting.get('message', '')})"
        for where, status in _statuses(pod)
        if (waiting := status.get("state", {}).get("waiting"))
    ]
    unready = [where for where, status in _statuses(pod) if "running" in status.get("state", {})]
    return "; ".join(reasons) or (f"{', '.join(unready)} not ready" if unready else "no container has started")


def _crd(obj: Object) -> _Answer:
    by_type = conditions(obj)
    names = by_type.get("NamesAccepted", {})
    if names.get("status") == "False":
        return State.FAILED, "NamesConflict", f"has names that were not accepted: {names.get('message', 'no message')}"
    if _true(by_type.get("Established")) and _true(names):
        return State.READY, "Established", "is established"
    return State.WAIT, "NotEstablished", "is not established yet"


def _by_condition(kind: str) -> Callable[[Object], _Answer]:
    def judge(obj: Object) -> _Answer:
        condition = conditions(obj).get(kind)
        seen = (condition or {}).get("observedGeneration")
        if _true(condition) and (seen is None or seen >= obj["metadata"].get("generation", 0)):
            return State.READY, kind, f"is {kind}"
        text = (condition or {}).get("message") or f"no condition {kind} yet"
        return State.WAIT, f"Not{kind}", f"is not {kind}: {text}"

    return judge


def _by_phase(where: str, ready: set[str], failed: set[str]) -> Callable[[Object], _Answer]:
    def judge(obj: Object) -> _Answer:
        value: str = obj.get("status", {}).get(where) or ""
        state = State.READY if value in ready else State.FAILED if value in failed else State.WAIT
        return state, value or "NoPhase", f"has {where} {value or 'unset'}"

    return judge


def _node(obj: Object) -> _Answer:
    by_type = conditions(obj)
    if not _true(by_type.get("Ready")):
        return State.WAIT, "NotReady", f"is not Ready: {by_type.get('Ready', {}).get('message', 'no message')}"
    pressed = [
        name
        for name in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
        if _true(by_type.get(name))
    ]
    return (State.WAIT, pressed[0], f"has {', '.join(pressed)}") if pressed else (State.READY, "Ready", "is Ready")


def _profile(obj: Object) -> _Answer:
    """By the finalizer that the profile controller (v1.6.1 to v2.0.0) adds after namespace, bindings and quota."""
    if "profile-finalizer" in (obj["metadata"].get("finalizers") or ()):
        return State.READY, "Reconciled", "has its namespace"
    if failed := conditions(obj).get("Failed"):
        return State.FAILED, "ProfileFailed", f"is refused by its controller: {failed.get('message', '')}"
    return State.WAIT, "NoNamespace", "waits for the profile controller, which makes its namespace"


_PREDICATES: dict[tuple[str, str], Callable[[dict[str, Any]], _Answer]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "Node"): _node,
    ("", "Namespace"): _by_phase("phase", {"Active"}, set()),
    ("", "PersistentVolumeClaim"): _by_phase("phase", {"Bound"}, {"Lost"}),
    ("", "PersistentVolume"): _by_phase("phase", {"Bound", "Available", "Released"}, {"Failed"}),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    ("apiregistration.k8s.io", "APIService"): _by_condition("Available"),
    ("cert-manager.io", "Certificate"): _by_condition("Ready"),
    ("kubeflow.org", "Profile"): _profile,
    ("scheduling.volcano.sh", "Queue"): _by_phase("state", {"Open"}, {"Closed", "Closing", "Unknown"}),
}
