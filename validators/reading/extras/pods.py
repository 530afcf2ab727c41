"""What else is known of pods that are not well."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.readiness import assess_pod
from validators.core.facts import Facts, PodNotes
from validators.subjects.pods import waits_for_gang
from validators.subjects.troubles import judged

__all__ = ["notes", "pod_notes"]

_NOTED_PODS = 20
_LOG_LINES = 40


def pod_notes(cluster: Cluster, facts: Facts) -> Mapping[str, PodNotes]:
    """Warning events of pods that are not well, and the end of the log of those that crashed or failed."""
    sick = [pod for pod in judged(facts, "pods") if not assess_pod(pod).ready and not waits_for_gang(pod)]
    return {pod["metadata"]["uid"]: notes(cluster, pod) for pod in sick[:_NOTED_PODS]}


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
