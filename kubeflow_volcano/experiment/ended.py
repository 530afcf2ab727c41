"""Wait until a probe pod ends, and notice early that it cannot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.pods import CONTAINER
from kubeflow_volcano.experiment.session import Session

_TICK = 0.2
"""How many times the seconds of a wait it may last, however often there is progress."""
ALTERED = "ChangedAtAdmission"
"""Reason of a pod that got no node, and that admission changed so that it may fit none."""
NO_EVENT = "no event says why"
UNSEEN = "NotScheduled"
"""Reason of an `End`: no scheduler has said anything about the pod."""
UNPLACED = "Unschedulable"
"""Reason of an `End`: by the scheduler's word no node takes the pod, for another reason than its volumes."""
"""End of the text of a pod that waits for something that it has no event about, such as a volume."""
_CLAIM = ("v1", "PersistentVolumeClaim")
_CHOSEN = "volume.kubernetes.io/selected-node"
"""Annotation of a claim by the scheduler that has chosen the node of its first pod (WaitForFirstConsumer)."""
_ENDED = frozenset({"Succeeded", "Failed"})
BAD_STARTS = BAD_IMAGE_REASONS | {"CreateContainerConfigError", "RunContainerError"}
"""The kubelet's reasons for a container that does not start."""
_REFUSALS = ("is forbidden", "denied the request", "failed calling webhook")
_PROVISIONING_FAILED = "ProvisioningFailed"
"""Reason of a provisioner's event; what it says when it tries again is no progress."""
# The kubelet retries a failed mount forever; these causes stay.
_LASTING_MOUNT_TROUBLE = ("hostPath type check failed",)


@dataclass(frozen=True, slots=True)
class End:
    """How a pod ended. `said` is what its script wrote to the termination log.

    `failure` says why it did not run to an end: a word of the kubelet or scheduler in `reason`, its text in `failure`.
    """

    succeeded: bool
    node: str
    said: str
    reason: str
    failure: str
    seconds: float


def watch_to_end(session: Session, pod: Object, seconds: float) -> End:
    """Wait until the pod has succeeded or failed, or cannot start; at most `seconds` without progress.

    Progress is a change of the pod, or news of it or its claims that are no warning: slow nodes and provisioners get
    their time, five times `seconds` in all.

    Raises:
        ApiError: the API server does not allow reading pods or events.
    """
    started = time.monotonic()
    meta = pod["metadata"]
    subjects = [Subject("v1", "Pod", meta["namespace"], fields=f"metadata.name={meta['name']}"), *_news(pod)]
    latest, found, refused = pod, None, False
    deadline = Deadline.renewable(seconds)
    with Observer(session.cluster, subjects, deadline) as observer:
        for change in observer.changes(_TICK):
            if change and is_progress(change) and not (refused and change.subject.kind == "Event"):
                deadline.renew()
            for obj in change.objects if change else ():
                if change and change.subject.kind == "Event":
                    found = found or _lasting(obj)
                    refused = refused or obj.get("reason") == _PROVISIONING_FAILED
                elif change and change.type == "DELETED":
                    found = found or ("Deleted", "another client deleted the probe pod")
                else:
                    latest = obj
                    found = found or _start_failure(obj)
            if found or session.stopped or phase_of(latest) in _ENDED:
                break
    reason, failure = found or ("", "")
    phase = phase_of(latest)
    said = _termination(latest)
    if phase not in _ENDED and not failure:
        reason, failure = _unended(session, latest, time.monotonic() - started)
    elif phase == "Failed" and not said:
        status = latest["status"]
        reason, failure = status.get("reason") or "Failed", status.get("message") or "the probe pod failed in silence"
    failure = _with_additions(session, latest, reason, failure)
    node = latest["spec"].get("nodeName", "")
    return End(phase == "Succeeded", node, said, reason, failure, time.monotonic() - started)


def _unended(session: Session, pod: Object, seconds: float) -> tuple[str, str]:
    """Why a pod has not ended by now, as reason and text."""
    scheduled = conditions(pod).get("PodScheduled", {})
    judged = scheduled.get("status") == "False"
    seen = bool(scheduled) or _is_chosen_for(session, pod)
    failure = _why_not(session, pod, seconds, seen=seen)
    if judged and (altered := session.altered(pod)) and altered.explains(failure):
        return ALTERED, f"{failure}; {altered}"
    if symptom := recognise(failure, "sandbox"):  # without one no container has a state of its own that could tell
        return symptom.reason, failure
    if judged and "olume" not in scheduled.get("message", "olume"):
        return UNPLACED, failure
    return "TimedOut" if seen else UNSEEN, failure


def _is_chosen_for(session: Session, pod: Object) -> bool:
    """Whether a scheduler has chosen a node for the pod: it waits for the volumes of claims before it says so."""
    if pod["spec"].get("nodeName"):
        return True
    try:
        claims = [session.cluster.get(Ref(*_CLAIM, pod["metadata"]["namespace"], name)) for name in _claims(pod)]
    except ApiError:
        return True
    return any(_CHOSEN in (claim["metadata"].get("annotations") or {}) for claim in claims if claim)


def _with_additions(session: Session, pod: Object, reason: str, failure: str) -> str:
    """The text about a pod that failed, with what admission added to it that keeps it from no node, such as limits."""
    altered = session.altered(pod) if failure and reason != ALTERED else None
    return f"{failure}; {altered}" if altered and altered.beside else failure


def is_progress(change: Change) -> bool:
    """Whether a change says that something has happened to a pod: an event that is repeated or warns does not."""
    if change.subject.kind == "Event":
        return change.type == "ADDED" and all(item.get("type") == "Normal" for item in change.objects)
    return change.type == "MODIFIED"


def phase_of(pod: Object) -> str:
    """Phase of a probe pod. Once its own container has ended, injected sidecars do not count.

    Sidecars that ignore the annotation never end, so neither does the pod.
    """
    phase: str = pod.get("status", {}).get("phase", "Pending")
    own = (item.get("state", {}).get("terminated") for item in _statuses(pod) if item["name"] == CONTAINER)
    if phase == "Running" and (ended := next(own, None)):
        return "Failed" if ended.get("exitCode") else "Succeeded"
    return phase


def warnings_about(session: Session, namespace: str, uid: str) -> tuple[str, ...]:
    """Messages of Warning events about one object, each once; none without permission to read events."""
    try:
        events = session.cluster.list("v1", "Event", namespace=namespace, fields=f"involvedObject.uid={uid}").items
    except ApiError:
        return ()
    return tuple(dict.fromkeys(item.get("message", "") for item in events if item.get("type") == "Warning"))


def kept_out(session: Session, job: Ref) -> str:
    """Why admission refused the job's pods, from events; empty if it did not, or events may not be read.

    Events have no field for it; the messages of the API server have a few fixed words.
    """
    try:
        events = session.cluster.list("v1", "Event", namespace=job.namespace, fields="type=Warning").items
    except ApiError:
        return ""
    said = (item.get("message", "") for item in events if item["involvedObject"].get("name", "").startswith(job.name))
    return "; ".join(dict.fromkeys(text for text in said if any(words in text for words in _REFUSALS)))


def _news(pod: Object) -> Iterator[Subject]:
    """Events about the pod and about its claims."""
    about = [f"involvedObject.uid={pod['metadata']['uid']}"]
    about += [f"involvedObject.kind=PersistentVolumeClaim,involvedObject.name={name}" for name in _claims(pod)]
    for fields in about:
        yield Subject("v1", "Event", pod["metadata"]["namespace"], fields=fields)


def _claims(pod: Object) -> Iterator[str]:
    volumes = pod["spec"].get("volumes") or ()
    return (item["persistentVolumeClaim"]["claimName"] for item in volumes if "persistentVolumeClaim" in item)


def _lasting(event: Object) -> tuple[str, str] | None:
    text = event.get("message", "")
    return ("FailedMount", text) if any(words in text for words in _LASTING_MOUNT_TROUBLE) else None


def _start_failure(pod: Object) -> tuple[str, str] | None:
    for status in _statuses(pod):
        waiting = status.get("state", {}).get("waiting") or {}
        if waiting.get("reason") in BAD_STARTS:
            return waiting["reason"], f"image {status.get('image', '')}: {waiting.get('message', 'no message')}"
    return None


def _termination(pod: Object) -> str:
    ends = (status.get("state", {}).get("terminated") or {} for status in _statuses(pod))
    return "\n".join(end["message"] for end in ends if end.get("message"))


def _why_not(session: Session, pod: Object, seconds: float, *, seen: bool) -> str:
    note = [*warnings_about(session, pod["metadata"]["namespace"], pod["metadata"]["uid"])]
    scheduled = conditions(pod).get("PodScheduled", {})
    if scheduled.get("status") == "False":
        note.append(scheduled.get("message", ""))
    if not seen:
        note.append(f"scheduler {pod['spec'].get('schedulerName', 'default-scheduler')} has not looked at it")
    phase = pod.get("status", {}).get("phase", "Pending")
    return f"the probe pod is still {phase} after {seconds:.0f} s: {'; '.join(dict.fromkeys(note)) or NO_EVENT}"


def _statuses(pod: Object) -> Iterator[Object]:
    yield from pod.get("status", {}).get("containerStatuses") or ()
